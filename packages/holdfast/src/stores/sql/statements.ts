/**
 * Sending a statement: with a time limit, again when it was rolled back or the connection had
 * ended, and after making the schema when it is missing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../../clock/clock.js'
import { RequestTimeouts } from '../../clock/request-timeouts.js'
import { StoreUnavailableError, type LockError } from '../../errors.js'

/** A statement that was rolled back or whose connection was lost is tried again so often. */
const TRIES = 5

export interface StatementOptions {
  /** The store's name. */
  readonly store: string
  readonly requestTimeoutMs: number
  /** Makes the schema; undefined when that is not to be done. */
  readonly migrate: (() => Promise<void>) | undefined
  /** Whether the failure undid the statement, and another try may succeed. */
  isRetriable(error: unknown): boolean
  /**
   * Whether the connection ended under the statement, which may have been done or not. A server
   * that restarted, or a firewall, leaves a pool full of such connections, and nobody knows before
   * they are used.
   */
  isCutOff(error: unknown): boolean
  /** Whether the tables or routines are not there. */
  isUnmigrated(error: unknown): boolean
  /** A typed error that says what happened and what to do. */
  explain(error: unknown): LockError
}

/** How long there is left for a statement. */
export interface TimeLimit {
  /** Nobody awaits the answer any more: what has not been sent must not be. */
  over: boolean
  /**
   * Set by the one who sends: ends the connection, which may never answer again and would be
   * missing in its pool.
   */
  giveUp: (() => void) | undefined
}

/** The error of a statement that was not sent any more. Nobody sees it. */
export function tooLate(): Error {
  return new Error('there was no connection in time')
}

/** Sends a statement once. */
type Send<T> = (limit: TimeLimit) => Promise<T>

interface Task<T> {
  readonly statement: Send<T>
  readonly repeatable: boolean
  resolve(value: T): void
  reject(error: unknown): void
}

export class Statements {
  readonly #options: StatementOptions
  readonly #patience: RequestTimeouts
  #migration: Promise<void> | undefined

  constructor(options: StatementOptions) {
    this.#options = options
    this.#patience = new RequestTimeouts(systemClock, options.requestTimeoutMs)
  }

  /**
   * Rejects with a `LockError`.
   * @param repeatable whether it may be done twice, as when the connection ended before its answer
   * came
   */
  send<T>(statement: Send<T>, repeatable: boolean): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#try({ statement, repeatable, resolve, reject }, 1),
    )
  }

  /** With callbacks, since most of what a client does for a lock of a database is this. */
  #try<T>(task: Task<T>, tries: number): void {
    const limit: TimeLimit = { over: false, giveUp: undefined }
    const question = this.#patience.start(() => {
      limit.over = true
      limit.giveUp?.()
      task.reject(this.#noAnswer())
    })
    task.statement(limit).then(
      (value) => {
        if (this.#patience.settle(question)) task.resolve(value)
      },
      (error: unknown) => {
        if (!this.#patience.settle(question)) return
        this.#mend(error, tries, task.repeatable).then(
          () => this.#try(task, tries + 1),
          (told: unknown) => task.reject(told),
        )
      },
    )
  }

  /** Resolves when the statement may be tried again. Rejects with the error as a `LockError`. */
  async #mend(error: unknown, tries: number, repeatable: boolean): Promise<void> {
    const options = this.#options
    if (tries < TRIES && options.isRetriable(error)) return
    // What ended together is told one after the other: the pool has to hear of all before it lends
    // the next one.
    if (tries < TRIES && repeatable && options.isCutOff(error)) await nextTurn()
    else if (tries < TRIES && options.migrate && options.isUnmigrated(error))
      await this.#migrate(options.migrate)
    else throw options.explain(error)
  }

  async #migrate(migrate: () => Promise<void>): Promise<void> {
    this.#migration ??= migrate()
    try {
      await this.#migration
    } catch (error) {
      throw this.#options.explain(error)
    } finally {
      this.#migration = undefined
    }
  }

  /** When nobody answers the outcome is unknown. */
  #noAnswer(): StoreUnavailableError {
    const { requestTimeoutMs, store } = this.#options
    const text =
      `The database did not answer within ${requestTimeoutMs} ms. The outcome is unknown. Either the server or the ` +
      'network is slow, or all connections of the pool are in use.'
    return new StoreUnavailableError(text, { store })
  }
}
