/** How a transaction of MySQL or MariaDB covers a lease. */
import type { TransactionGuard } from '../../../store/contract.js'
import { makeSavepoint, releaseSavepoint } from '../../../transaction/savepoint.js'
import { hexOf } from '../keys.js'

/**
 * Ends with the transaction, also where a statement such as CREATE TABLE has committed it on the
 * way.
 */
const SAVEPOINT = 'holdfast_cover'

export function transactionGuardOf(
  prefix: string,
): Pick<TransactionGuard, 'begin' | 'isStillOpen'> {
  const guard =
    `select name from ${prefix}guards where name = unhex(?) ` +
    'and token <= cast(? as signed) lock in share mode'
  return {
    async begin(query, { lock, token }) {
      if ((await query(guard, [hexOf(lock), token])).length === 0) return false
      await makeSavepoint(query, SAVEPOINT)
      return true
    },
    isStillOpen: (query) => releaseSavepoint(query, SAVEPOINT),
  }
}
