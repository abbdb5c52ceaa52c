/** What Redis promises under each fault: one server, and a primary with replicas. */
import { absent, NO_REPLICATION, ONE_SERVER, SERVER_CLOCK, without } from '../faults/promises.js'
import type { Cell } from '../faults/cells.js'

const LOST_WRITES = without(
  ['exclusion', 'ghost'],
  'a replica that had not received a grant, or a release, does not know of it',
)

/** One server, with its writes on a disk. */
export const REDIS = {
  ...NO_REPLICATION,
  'restart-empty': without(['exclusion'], 'a server that persists nothing forgets who holds'),
  flush: without(
    ['exclusion'],
    'deleting the keys deletes the locks; holders learn it at their next renewal',
  ),
  ...SERVER_CLOCK,
  failover: LOST_WRITES,
  'leader-kill': ONE_SERVER,
  'quorum-loss': ONE_SERVER,
} as const

export const ASYNCHRONOUS = without(
  ['exclusion', 'ghost'],
  'replication is asynchronous, and a replaced primary serves clients that still reach it until it learns of that',
)

const ONE_REDIS = absent('as on one server: see redis')

const CUT_PRIMARY = absent(
  'not driven here: a primary that is cut off grants to clients that reach it until it notices, as after stall',
)

const SENTINELS_RESET: Cell = {
  verdict: 'absent',
  // Redis 7.0 answers neither PUBLISH nor a PING behind it while writes are paused.
  because:
    'not driven here: without a pause of writes a hand-over loses some, and CLIENT PAUSE holds back ' +
    'what Sentinels publish and ask, so that they replace the server, as in primary-kill',
}

/** A primary with replicas that take over, by any means. */
export const REPLICATED = {
  flush: REDIS.flush,
  stall: ASYNCHRONOUS,
  'server-kill': ASYNCHRONOUS,
  'primary-kill': ASYNCHRONOUS,
  failover: LOST_WRITES,
  'endpoint-moves': SENTINELS_RESET,
  'restart-empty': absent(
    'a primary that comes back empty before it is replaced empties its replicas: see redis',
  ),
  'clock-forward': ONE_REDIS,
  'clock-back': ONE_REDIS,
  abandon: ONE_REDIS,
  'disk-full': ONE_REDIS,
  'leader-kill': absent('the leader is called a primary here: see primary-kill'),
  'leader-isolated': CUT_PRIMARY,
  'leader-deposed': CUT_PRIMARY,
  'leader-reset': CUT_PRIMARY,
  'follower-isolated': absent(
    'not driven here: clients that reach a replica alone get nothing from it, as in black-hole',
  ),
} as const
