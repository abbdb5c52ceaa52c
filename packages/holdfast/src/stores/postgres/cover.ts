/** How a transaction of PostgreSQL covers a lease. */
import type { Cover } from '../../store/contract.js'

/** @param schema as SQL has to say it */
export function coverOf(schema: string): Pick<Cover, 'begin' | 'lasts'> {
  const guard =
    "select name, set_config('holdfast.cover', $3::text, true) as cover " +
    `from ${schema}.guards where name = $1::text and token <= $2::text::bigint for share`
  return {
    begin: async (query, { lock, token, id }) => (await query(guard, [lock, token, id])).length > 0,
    // The setting is the transaction's own and ends with it.
    async lasts(query, { id }) {
      const [row] = (await query("select current_setting('holdfast.cover', true) as cover", [])) as {
        cover: unknown
      }[]
      return row?.cover === id
    },
  }
}
