/** Errors that several stores throw for the same reason. */
import { LockUsageError, StoreUnavailableError, type LockErrorDetails } from '../errors.js'
import { CAPACITY_ALL } from './claim.js'

/** Returns the error for a request to a store that is closed or closes. */
export function storeClosed(store: string): LockUsageError {
  return new LockUsageError(`The ${store} store was closed. Make a new one.`, {
    code: 'LOCKS_CLOSED',
    store,
  })
}

/**
 * Returns the error for a claim whose kind or capacity differs from those in use (`LOCK_MISMATCH`).
 */
export function lockMismatch(
  claim: { readonly lock: string; readonly kind: string; readonly capacity: number },
  { kind, capacity }: { readonly kind: string; readonly capacity: number | string },
  store?: string,
): LockUsageError {
  return new LockUsageError(
    `Lock "${claim.lock}" is in use as a ${kindText(kind, capacity)}, ` +
      `and was asked for as a ${kindText(claim.kind, claim.capacity)}. ` +
      'Let all its users agree on one kind and one number of permits, or use another name.',
    { code: 'LOCK_MISMATCH', lock: claim.lock, store, inUse: { kind, capacity: Number(capacity) } },
  )
}

/** Only a semaphore has a capacity that its users chose. */
function kindText(kind: string, capacity: number | string): string {
  return Number(capacity) === CAPACITY_ALL ? kind : `${kind} of capacity ${capacity}`
}

/** The advice to a process that meets a newer stored format than it knows. */
export const UPDATE_ADVICE = 'Nothing was changed. Update Holdfast in this process.'

/**
 * Returns the error for stored state whose format is newer than this version knows
 * (`STORE_FORMAT`).
 * @param what the state, such as `An entry in the queue`
 */
export function newerFormat(
  what: string,
  { found, known, ...details }: LockErrorDetails & { found: string; known: number },
): StoreUnavailableError {
  const text = `${what} has ${found}, and this version of Holdfast knows format ${known}. ${UPDATE_ADVICE}`
  return new StoreUnavailableError(text, { ...details, code: 'STORE_FORMAT' })
}
