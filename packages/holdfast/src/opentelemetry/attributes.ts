/** The names of attributes. OpenTelemetry has no convention for locks. */
import type { MeasuredLock } from '../telemetry/live-counts.js'

export const LOCK_NAME = 'holdfast.lock.name'
export const LOCK_KIND = 'holdfast.lock.kind'
export const STORE_NAME = 'holdfast.store.name'
export const CLAIM_ID = 'holdfast.claim.id'
export const LEASE_TOKEN = 'holdfast.lease.token'
export const OUTCOME = 'holdfast.outcome'
export const LOSS_REASON = 'holdfast.loss.reason'
export const ELECTION_NAME = 'holdfast.election.name'
export const ERROR_TYPE = 'error.type'

/** Returns the attributes of a measurement. */
export function attributesOf({ store, kind, lock }: MeasuredLock): Record<string, string> {
  const names = { [STORE_NAME]: store, [LOCK_KIND]: kind }
  return lock === undefined ? names : { ...names, [LOCK_NAME]: lock }
}
