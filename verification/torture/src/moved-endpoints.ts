/** What `endpoint-moves` is for services whose members say themselves who leads. */
import type { Cell } from './cells.js'

export const MEMBER_MOVES: Cell = {
  verdict: 'promised',
  note: 'a member that follows answers nothing, or is cut off from the others where a run has a network of its own; its address leads to another member, and back when it is well',
}

export const PLANNED_FAILOVER: Cell = {
  verdict: 'promised',
  note: 'a planned failover: the servers themselves say who leads, and each keeps its address',
}

export const SENTINELS_RESET: Cell = {
  verdict: 'absent',
  because:
    'not driven here: Sentinels break all connections to a server that they replace, as in primary-kill',
}
