/** What the caller passes to the suite: a store under test, and a test runner. */
import type { MaybePromise, Store, Traits } from 'holdfast/store'
import type { VirtualClock } from 'holdfast/testing'

/** A program that opens the same backing service and answers the suite through `serveWorker`. */
export interface WorkerCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Cases to leave out, and why. Each name is that of a case or of a group. */
export interface Skip {
  readonly reason: string
  readonly tests: readonly string[]
}

/** A store under test. */
export interface Subject {
  /** The name in the titles. */
  readonly name: string
  /** Decide which cases apply, before a store is opened. */
  readonly traits: Traits
  /** Opens a new client of the same service, as another process would have. The suite closes it. */
  open(): MaybePromise<Store>
  /** Kills the service and starts it again with the data that it kept. */
  restart?(): MaybePromise<void>
  readonly worker?: WorkerCommand
  /** Cases that cannot pass here. Each needs a reason, which is printed. */
  readonly skip?: readonly Skip[]
  /** The virtual clock of the store, if it has one. Then no case waits in real time. */
  readonly clock?: VirtualClock
  /** A short TTL that is renewed in time on a busy machine, in milliseconds. Default: 300. */
  readonly shortTtlMs?: number
  /** How late results may come on a busy machine, in milliseconds. Default: 3000. */
  readonly slackMs?: number
  /** How many processes the suite kills while they contend. Default: 30. */
  readonly killRounds?: number
  /**
   * How many pairs of verbs each case races on one claim, drawn at random. Default: each pair once.
   */
  readonly races?: number
  /**
   * False where a verb runs on several independent servers, so that two verbs at the same time may
   * each reach a part of them first. Default: true.
   */
  readonly atomicVerbs?: boolean
}

/** The part of a test runner that the suite needs: of vitest, node:test, mocha or jest. */
export interface Runner {
  describe(title: string, register: () => void): unknown
  /** Registers cases that may run at the same time (`describe.concurrent` of vitest). */
  describeConcurrent?(title: string, register: () => void): unknown
  test(title: string, run: () => Promise<void>, timeoutMs?: number): unknown
  /** Shows a case that is left out. Default: it does not appear. */
  skip?(title: string, run: () => void): unknown
}
