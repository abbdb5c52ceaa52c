/** How a transaction of MySQL or MariaDB covers a lease. */
import type { Cover } from '../../store/contract.js'
import { isNoSavepoint } from '../../transaction/failures.js'
import { hexOf } from './names.js'

/** It ends with the transaction, also where a statement such as CREATE TABLE has committed it on the way. */
const SAVEPOINT = 'holdfast_cover'

export function coverOf(prefix: string): Pick<Cover, 'begin' | 'lasts'> {
  const guard =
    `select name from ${prefix}guards where name = unhex(?) ` +
    'and token <= cast(? as signed) lock in share mode'
  return {
    async begin(query, { lock, token }) {
      if ((await query(guard, [hexOf(lock), token])).length === 0) return false
      await query(`savepoint ${SAVEPOINT}`, [])
      return true
    },
    async lasts(query) {
      try {
        await query(`release savepoint ${SAVEPOINT}`, [])
        return true
      } catch (error) {
        if (isNoSavepoint(error)) return false
        throw error
      }
    },
  }
}
