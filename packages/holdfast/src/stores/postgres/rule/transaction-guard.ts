/** How a transaction of PostgreSQL covers a lease. */
import type { TransactionGuard } from '../../../store/contract.js'

/** @param schema as SQL has to say it */
export function transactionGuardOf(
  schema: string,
): Pick<TransactionGuard, 'begin' | 'isStillOpen'> {
  const guard =
    "select name, set_config('holdfast.cover', $3::text, true) as cover " +
    `from ${schema}.guards where name = $1::text and token <= $2::text::bigint for share`
  return {
    begin: async (query, { lock, token, id }) => (await query(guard, [lock, token, id])).length > 0,
    // The setting is the transaction's own and ends with it.
    async isStillOpen(query, { id }) {
      // Only counts rows, since a setting of the library may rename columns.
      const same = "select 1 as same where current_setting('holdfast.cover', true) = $1::text"
      return (await query(same, [id])).length > 0
    },
  }
}
