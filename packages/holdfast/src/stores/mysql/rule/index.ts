/**
 * The grant rule of `store/grant-rule.ts` as stored procedures. Clients call `apply_batch_v1` with
 * a list of requests as JSON. It returns the answers, in one round trip and one transaction. For a
 * single request they call `apply_one_v1`.
 *
 * Why it is safe: each procedure first locks the rows of its locks, in the order in which the
 * client sorted them. Only then does it read anything else. In READ COMMITTED each statement sees
 * everything that was committed before the statement began. So it sees all that the previous caller
 * did under the same row lock.
 *
 * The number in a name is its version. A change of what a procedure means gets the next number, and
 * so do its callers. So clients of two versions can share the tables during an upgrade. A change
 * that only mends a procedure keeps the name; the migration replaces it (routines.ts).
 *
 * The procedures run with the rights of their caller.
 */
import { APPLY_BATCH, APPLY_IN_ORDER } from './apply-batch.js'
import { APPLY_FAST } from './apply-fast.js'
import { APPLY_ONE } from './apply-one.js'
import {
  CREATE_GUARD,
  EXPIRE_AND_PROMOTE,
  GRANT_CLAIM,
  PROMOTE_WAITERS,
  TRY_PASS_GUARD,
} from './grants.js'
import { KEEP_WAITING } from './heartbeats.js'
import { DELETE_TOMBSTONES, FIND_GRANTS, LIST_LOCKS, NOTIFY_CLIENTS } from './housekeeping.js'
import { INSPECT, STEAL } from './operator-verbs.js'
import { PURGE_LOCKS } from './purge.js'
import { ADOPT, ATTEMPT, DOWNGRADE, RENEW, WITHDRAW } from './verbs.js'

/** Each creates one procedure. */
export const RULE: readonly string[] = [
  GRANT_CLAIM,
  TRY_PASS_GUARD,
  CREATE_GUARD,
  PROMOTE_WAITERS,
  EXPIRE_AND_PROMOTE,
  ATTEMPT,
  RENEW,
  WITHDRAW,
  DOWNGRADE,
  ADOPT,
  STEAL,
  INSPECT,
  NOTIFY_CLIENTS,
  DELETE_TOMBSTONES,
  KEEP_WAITING,
  APPLY_IN_ORDER,
  APPLY_FAST,
  APPLY_BATCH,
  APPLY_ONE,
  LIST_LOCKS,
  FIND_GRANTS,
  PURGE_LOCKS,
]
