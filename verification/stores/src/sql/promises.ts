/** What one database promises under each fault. */
import { absent, NO_REPLICATION, NO_SCRIPTS, ONE_SERVER, SERVER_CLOCK } from '../faults/promises.js'

const NEVER_EMPTY = absent(
  'a database that comes back empty has no lock table, and every request is refused',
)
const NO_ROOM = absent(
  'not driven here: without memory or disk the database refuses the transaction, and the attempt fails with it',
)

export const SQL = {
  ...NO_REPLICATION,
  'restart-empty': NEVER_EMPTY,
  flush: NEVER_EMPTY,
  'script-flush': NO_SCRIPTS,
  oom: NO_ROOM,
  'disk-full': NO_ROOM,
  failover: absent(
    'a replica that takes over lacks what it lacks: the database’s own affair, not driven here',
  ),
  ...SERVER_CLOCK,
  'leader-kill': ONE_SERVER,
  'quorum-loss': ONE_SERVER,
} as const
