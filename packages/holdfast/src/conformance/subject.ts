/** What the suite is given: a store to judge, and a test runner to tell the verdicts to. */
import type { Store, Traits } from '../store/contract.js'
import type { MaybePromise } from '../store/maybe-promise.js'
import type { VirtualClock } from './virtual-clock.js'

/** A program that opens the same backing service and answers the suite through `serveWorker`. */
export interface WorkerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Tests that are left out, and why. Each name must be that of a case or of a whole group. */
export interface Skip {
  readonly reason: string
  readonly tests: readonly string[]
}

/** A store under test. */
export interface Subject {
  /** Stands in the titles of the tests. */
  readonly name: string
  /** Needed before anything is opened, to know which tests apply. */
  readonly traits: Traits
  /**
   * A fresh client of the same backing service, as another process would have. The suite closes it.
   */
  open(): MaybePromise<Store>
  /** Ends the backing service without notice and starts it again with what it had kept. */
  restart?(): MaybePromise<void>
  readonly worker?: WorkerCommand
  /** What cannot pass here. Each needs a reason, which is printed. */
  readonly skip?: readonly Skip[]
  /** The clock that the store runs on, where a test may move it: then no test really waits. */
  readonly clock?: VirtualClock
  /**
   * A TTL that is short and still renewed in time on a busy machine, in milliseconds. Default 300.
   */
  readonly shortTtlMs?: number
  /**
   * How much later than promised something may come on a busy machine, in milliseconds. Default 3
   * 000.
   */
  readonly slackMs?: number
  /** How many rounds of killed processes. Default 30. */
  readonly killRounds?: number
}

/** As much of a test runner as the suite needs; those of vitest, node:test, mocha and jest fit. */
export interface Runner {
  describe(title: string, register: () => void): unknown
  /**
   * The same for tests that may run at the same time, as `describe.concurrent` of vitest. Default:
   * `describe`.
   */
  describeConcurrent?(title: string, register: () => void): unknown
  test(title: string, run: () => Promise<void>, timeoutMs?: number): unknown
  /** Shows a test that is left out. Without it a left out test does not appear at all. */
  skip?(title: string, run: () => void): unknown
}
