/** Announces a lease that user code has forgotten: an event, and the first time a warning. */
import type { Grant } from '../grant/grant.js'
import type { Runtime } from '../runtime/runtime.js'

let hasWarned = false

/** @param acquiredAt where it was acquired, if the client traces that */
export function announceForgotten(
  runtime: Runtime,
  { claim, grantedMs, renewing }: Grant,
  nowMs: number,
  acquiredAt: string | undefined,
): void {
  const durationMs = nowMs - grantedMs
  runtime.announce('forgotten', claim, { durationMs, ...(acquiredAt && { acquiredAt }) })
  if (hasWarned) return
  hasWarned = true
  process.emitWarning(
    `The lease on "${claim.lock}" (claim ${claim.id}) was garbage-collected while it was held, and ${renewing === 'regular' ? 'is still renewed' : 'keeps the lock until it ends'}. ` +
      `Release it, or use run. ${acquiredAt ?? 'traceAcquires: true shows where it was acquired.'}`,
    { type: 'HoldfastWarning', code: 'LEASE_FORGOTTEN' },
  )
}
