/** What members that agree on every write promise under each fault. */
import { absent, NO_FOLLOWERS, NO_SCRIPTS } from '../faults/promises.js'
import type { Cell } from '../faults/cells.js'

const MEMBER_MOVES: Cell = {
  verdict: 'promised',
  note: 'a member that follows answers nothing, or is cut off from the others where a run has a network of its own; its address leads to another member, and back when it is well',
}

export const CONSENSUS = {
  abandon: absent('nothing is kept beyond a session; not driven here'),
  block: absent('its leases end with the session of a connection, which no thread can share'),
  'primary-kill': NO_FOLLOWERS,
  'replica-kill': NO_FOLLOWERS,
  'restart-empty': absent(
    'a member that lost its data must be removed and added again: the cluster refuses it',
  ),
  flush: absent('deleting the keys by hand deletes the locks'),
  'script-flush': NO_SCRIPTS,
  'endpoint-moves': MEMBER_MOVES,
  failover: absent('a member that takes over has every acknowledged write: see leader-kill'),
  'disk-full': absent('not driven here: a member without room fails, as in server-kill'),
} as const
