/** Batches of renewals whose results do not wait for each other. */
import { isLockError } from '../errors.js'
import type { Renewal, RenewalListener, RenewResult } from './contract.js'

/**
 * Renews each lease of a batch by itself, and reports each result when it is known.
 *
 * @param renewOne a rejection with a `LockError` makes the outcome of this renewal unknown
 */
export function renewEach(
  renewals: readonly Renewal[],
  renewOne: (renewal: Renewal) => Promise<RenewResult>,
  report?: RenewalListener,
): Promise<readonly RenewResult[]> {
  return Promise.all(
    renewals.map(async (renewal, index) => {
      const result = await renewOne(renewal).catch(unknown)
      report?.(index, result)
      return result
    }),
  )
}

function unknown(error: unknown): RenewResult {
  if (isLockError(error)) return { outcome: 'unknown', cause: error }
  throw error
}
