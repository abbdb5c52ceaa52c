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
  // Redis 7.0 answers neither PUBLISH nor a PING behind it while writes are paused.
  because:
    'not driven here: without a pause of writes a hand-over loses some, and CLIENT PAUSE holds back ' +
    'what Sentinels publish and ask, so that they replace the server, as in primary-kill',
}
