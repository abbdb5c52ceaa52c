/** Mutations of the detector. The cases with deadlocks catch them. */
import type { Edit } from '../mutations/mutation.js'
import type { StoreName } from '../server/models.js'

export interface DeadlockMutation {
  readonly name: string
  readonly breaks: string
  readonly edits: readonly Edit[]
  /** The store model under which it shows soonest; `memory` where none is named. */
  readonly store?: StoreName
  /** What the judge finds. */
  readonly as: string
  /** A seed that showed it. After other changes it may be another one. */
  readonly seed: number
}

const DETECTOR = 'lease/deadlock/detector.js'
const NAMED = 'deadlock?.isNamed === true'

export const DEADLOCK_MUTATIONS: readonly DeadlockMutation[] = [
  {
    name: 'no-detection',
    breaks: 'Every deadlock is broken',
    edits: [{ file: DETECTOR, find: NAMED, replace: 'false' }],
    as: 'liveness',
    seed: 4,
  },
  {
    name: 'seen-once',
    breaks: 'Nothing is reported that was no deadlock at one instant',
    edits: [{ file: DETECTOR, find: NAMED, replace: 'deadlock' }],
    store: 'poll',
    as: 'true-report',
    seed: 512,
  },
  {
    name: 'any-victim',
    breaks: 'One wait of a deadlock fails',
    edits: [{ file: DETECTOR, find: 'deadlock.victim.id === nested.id', replace: 'true' }],
    as: 'one-victim',
    seed: 13,
  },
  {
    name: 'two-readings',
    breaks: 'A wait that is not due yet is looked for later, whenever its timer fires',
    edits: [
      {
        file: DETECTOR,
        find: 'this.#arm(this.#nextDueMs(startMs));',
        replace: 'this.#arm(this.#nextDueMs(clock.monotonicMs()));',
      },
    ],
    store: 'poll',
    as: 'liveness',
    seed: 68,
  },
  {
    name: 'no-weights',
    breaks: 'A wait is stuck only where the stuck holders leave it no room',
    edits: [
      {
        file: 'lease/deadlock/find-deadlocks.js',
        find: 'return this.#held > 0 && this.#held + this.#roomFor(note) > this.#lock.capacity;',
        replace: 'return this.#held > 0;',
      },
    ],
    as: 'true-report',
    seed: 473,
  },
]
