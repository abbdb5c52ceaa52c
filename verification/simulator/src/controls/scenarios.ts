/** Directed cases for the controls that chance hardly ever catches. */
import type { Fault } from '../faults/fault.js'
import type { ControlCase, ControlOperation } from './case.js'

const TTL_MS = 10_000
const QUIET = { atMs: 0, loseRequest: 0, loseReply: 0, twice: 0, loseWake: 0 }

/** By the id of the control. */
export const CONTROL_SCENARIOS: ReadonlyMap<string, ControlCase> = new Map([
  // The answers to an attempt are lost, and its caller gives up; the next one must not wait for a
  // ghost.
  [
    'no-withdraw',
    scenario(
      [[once(100, 250)], [once(1000)]],
      [{ kind: 'storm', process: 0, ...QUIET, forMs: 380, loseReply: 1 }],
    ),
  ],
  // A copy of the attempt arrives after the release of its lease.
  [
    'no-tombstone',
    scenario(
      [[once(100)], [once(1200)]],
      [{ kind: 'storm', process: 0, ...QUIET, forMs: 105, twice: 1 }],
    ),
  ],
])

function once(thinkMs: number, giveUpMs?: number): ControlOperation {
  return { thinkMs, workMs: 10, giveUpMs }
}

function scenario(scripts: ControlOperation[][], faults: Fault[]): ControlCase {
  const right = { startMs: 0, wallOffMs: 0, rate: 1 }
  return {
    seed: 1,
    durationMs: 4000,
    ttlMs: TTL_MS,
    clocks: scripts.map(() => right),
    serverClock: right,
    lanes: 1,
    scripts,
    faults,
    longestWaitMs: 1000,
  }
}
