/**
 * The grant rule of `store/grant-rule.ts` in PL/pgSQL. Clients call one function, `apply_batch_v1`,
 * with a list of requests as JSON. It returns a list of answers, in one round trip and one
 * transaction.
 *
 * Why it is safe: the function first locks the rows of its locks, in the order of their names. Only
 * then does it run further statements. In READ COMMITTED each statement sees everything that was
 * committed before the statement began. So it sees all that the previous caller did under the same
 * row lock. A single statement that locks the row and adds up the holders is not safe. Its snapshot
 * is older than its wait for the row, so two contenders would both find the lock free.
 *
 * The number in a name is its version. A change of what a function means gets the next number, so
 * clients of two versions can share the tables during an upgrade.
 */
import { APPLY_BATCH, APPLY_BATCH_IN_OWN_TRANSACTION } from './apply-batch.js'
import { APPLY_FAST } from './apply-fast.js'
import {
  ADD_TOMBSTONE,
  CREATE_GUARD,
  EXPIRE_AND_PROMOTE,
  GRANT_CLAIM,
  PROMOTE_WAITERS,
  TRY_PASS_GUARD,
} from './grants.js'
import { INSPECT, STEAL } from './operator-verbs.js'
import { PURGE_LOCKS } from './purge.js'
import { ADOPT, ATTEMPT, DOWNGRADE, RENEW, WITHDRAW } from './verbs.js'

export const RULE = [
  EXPIRE_AND_PROMOTE,
  ADD_TOMBSTONE,
  GRANT_CLAIM,
  TRY_PASS_GUARD,
  CREATE_GUARD,
  PROMOTE_WAITERS,
  ATTEMPT,
  RENEW,
  WITHDRAW,
  DOWNGRADE,
  ADOPT,
  STEAL,
  INSPECT,
  APPLY_FAST,
  APPLY_BATCH,
  APPLY_BATCH_IN_OWN_TRANSACTION,
  PURGE_LOCKS,
].join('')
