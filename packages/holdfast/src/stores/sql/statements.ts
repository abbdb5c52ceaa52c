/** Sending a statement: with a time limit, again when it was rolled back, and after making the schema when it is missing. */
import { StoreUnavailableError, type LockError } from '../../errors.js'

/** A deadlock or a serialization failure is tried again so often. */
const TRIES = 5

export interface StatementOptions {
  /** The store's name. */
  readonly store: string
  readonly requestTimeoutMs: number
  /** Makes the schema; undefined when that is not to be done. */
  readonly migrate: (() => Promise<void>) | undefined
  /** Whether the failure undid the statement, and another try may succeed. */
  isRetriable(error: unknown): boolean
  /** Whether the tables or routines are not there. */
  isUnmigrated(error: unknown): boolean
  /** A typed error that says what happened and what to do. */
  explain(error: unknown): LockError
}

/** How long there is left for a statement. */
export interface Patience {
  /** Nobody awaits the answer any more: what has not been sent must not be. */
  over: boolean
  /** Set by the one who sends: ends the connection, which may never answer again and would be missing in its pool. */
  giveUp: (() => void) | undefined
}

/** The error of a statement that was not sent any more. Nobody sees it. */
export function tooLate(): Error {
  return new Error('there was no connection in time')
}

export class Statements {
  readonly #options: StatementOptions
  #migration: Promise<void> | undefined

  constructor(options: StatementOptions) {
    this.#options = options
  }

  /** Rejects with a `LockError`. */
  async send<T>(statement: (patience: Patience) => Promise<T>): Promise<T> {
    const options = this.#options
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#bounded(statement)
      } catch (error) {
        if (options.isRetriable(error) && tries < TRIES) continue
        if (options.migrate && options.isUnmigrated(error) && tries < TRIES)
          await this.#migrate(options.migrate)
        else throw options.explain(error)
      }
    }
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
  #bounded<T>(statement: (patience: Patience) => Promise<T>): Promise<T> {
    const { requestTimeoutMs, store } = this.#options
    const patience: Patience = { over: false, giveUp: undefined }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        patience.over = true
        patience.giveUp?.()
        const text =
          `The database did not answer within ${requestTimeoutMs} ms. The outcome is unknown. Either the server or the ` +
          'network is slow, or all connections of the pool are in use.'
        reject(new StoreUnavailableError(text, { store }))
      }, requestTimeoutMs)
      statement(patience)
        .finally(() => clearTimeout(timer))
        .then(resolve, reject)
    })
  }
}
