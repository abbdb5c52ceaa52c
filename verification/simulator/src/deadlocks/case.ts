/**
 * A case with deadlocks: actors take two or three locks one inside the other, in any order. So they
 * often wait in a cycle, and sometimes give up just before anyone could know.
 */
import { Dice } from '@holdfast/workload'
import { drawClock } from '../case.js'
import { firstLossMs, type Fault } from '../faults/fault.js'
import { drawFaults } from '../faults/plan.js'
import type { StoreName } from '../server/models.js'
import type { ClockErrors } from '../world/machine-clock.js'

export const LOCKS = ['a', 'b', 'c', 'page', 'pool'] as const
export type LockName = (typeof LOCKS)[number]

/** One lock of a nest. */
export interface Take {
  readonly lock: LockName
  /** Of the readers-writer lock: as a writer. */
  readonly write: boolean
  /** Of the semaphore: how many of its two permits. */
  readonly weight: number
  readonly waitMs: number
}

/** Locks that are taken one inside the other. */
export interface Nest {
  readonly thinkMs: number
  readonly takes: readonly Take[]
  readonly workMs: number
}

export interface DeadlockActor {
  readonly process: number
  readonly name: string
  readonly nests: readonly Nest[]
}

export interface DeadlockCase {
  readonly seed: number
  readonly store: StoreName
  readonly durationMs: number
  readonly clocks: readonly ClockErrors[]
  readonly serverClock: ClockErrors
  readonly lanes: number
  readonly deadlockCheckMs: number
  readonly actors: readonly DeadlockActor[]
  readonly faults: readonly Fault[]
}

const DURATION_MS = 15_000
const PROCESSES = 3
const NESTS = 12

export function drawDeadlockCase(seed: number, store: StoreName): DeadlockCase {
  // The recorded seeds hold for these names of dice: in another one a seed draws another case.
  const dice = Dice.named(seed, 'rings')
  const shape = { processes: PROCESSES, durationMs: DURATION_MS }
  const faults = dice.chance(0.3) ? [] : drawFaults(Dice.named(seed, 'ring faults'), shape)
  return {
    seed,
    store,
    durationMs: DURATION_MS,
    clocks: Array.from({ length: PROCESSES }, () => drawClock(dice)),
    serverClock: drawClock(dice),
    lanes: dice.whole(1, 2),
    // With a short one, a note that outlasts its wait meets younger waits.
    deadlockCheckMs: Dice.named(seed, 'ring checks').pick([10, 1000]),
    actors: drawActors(dice),
    // Where the server loses data, a lock has two holders, and one of them waits for nothing.
    faults: firstLossMs(faults) === Infinity ? faults : [],
  }
}

function drawActors(dice: Dice): DeadlockActor[] {
  const locks = dice.chance(0.3) ? (['a', 'b', 'c'] as const) : LOCKS
  return Array.from({ length: PROCESSES }, (_, process) =>
    Array.from({ length: dice.whole(1, 2) }, (_, index) => ({
      process,
      name: `p${process}.${index}`,
      nests: Array.from({ length: NESTS }, () => drawNest(dice, locks)),
    })),
  ).flat()
}

function drawNest(dice: Dice, locks: readonly LockName[]): Nest {
  const depth = dice.whole(1, 3)
  const names = [...locks].sort(() => dice.unit() - 0.5).slice(0, depth)
  const takes = names.map((lock) => ({
    lock,
    write: dice.chance(0.5),
    weight: dice.whole(1, 2),
    // Some end just before or after a deadlock is found.
    waitMs: dice.chance(0.3) ? dice.between(900, 1800) : Infinity,
  }))
  return { thinkMs: dice.exponential(200, 1500), takes, workMs: dice.exponential(100, 800) }
}
