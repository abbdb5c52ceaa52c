/**
 * Sends statements with a time limit. It sends a statement again if the server rolled it back or
 * its connection had ended. It also does so after a migration, if tables or routines are missing.
 */
import type { Clock } from '../../../clock/clock.js'
import { pause } from '../../../clock/pause.js'
import { RequestTimeouts } from '../../../clock/request-timeouts.js'
import { StoreUnavailableError, type LockError } from '../../../errors.js'
import type { ServerHistory } from '../errors.js'

/** How often a statement is sent at most. */
const MAX_TRIES = 5
/** How long a migration may take to replace a routine, in milliseconds. */
const REPLACEMENT_MS = 250

export interface StatementOptions {
  /** The store's name. */
  readonly store: string
  readonly clock: Clock
  readonly requestTimeoutMs: number
  /** Creates the tables and routines; undefined without `autoMigrate`. */
  readonly migrate: (() => Promise<void>) | undefined
  /** Whether the server undid the statement, and another try may succeed. */
  isRetriable(error: unknown): boolean
  /**
   * Whether the connection ended under the statement, whose outcome is then unknown. A server that
   * restarted, or a firewall, leaves a pool full of such connections, and only their use shows it.
   */
  isCutOff(error: unknown): boolean
  /** Whether the tables or routines are missing. */
  isUnmigrated(error: unknown): boolean
  /** Whether the server takes no writes. Nothing was ended, and the connection was left. */
  isReadOnly(error: unknown): boolean
  /** Returns a typed error that says what happened and what to do. */
  explain(error: unknown, has: ServerHistory): LockError
  /** Called when a write succeeds again: other connections may still lead to the earlier server. */
  onMoved(): void
}

export interface SendOptions {
  /** Whether the statement may run twice, as when its connection ended before the answer came. */
  readonly repeatable: boolean
  /** Whether the statement succeeds only on a server that takes writes. Default false. */
  readonly writes?: boolean | undefined
}

/** The time limit of one statement. A class and not a literal: see `Place`. */
export class TimeLimit {
  /** Whether the limit has passed: a statement that was not sent by then must not be sent. */
  over = false
  /**
   * Whether the statement is sent again if the server takes no writes: another one may have
   * replaced it. The sender leaves such a connection.
   */
  readonly isMovable: boolean
  /**
   * Set by the sender: ends the connection, which may never answer again and would be missing in
   * its pool.
   */
  giveUp: (() => void) | undefined = undefined

  constructor(isMovable: boolean) {
    this.isMovable = isMovable
  }
}

/** Returns the error of a statement that was not sent in time. No caller sees it. */
export function tooLate(): Error {
  return new Error('there was no connection in time')
}

/** Hears how a statement ended: with an error, or with `undefined` and its value. */
export type Done<T> = (error: unknown, value?: T) => void

/** A statement that is sent until it is answered. Either `resolve` or `reject` is called. */
export interface Task<T> extends SendOptions {
  /** Sends the statement once. */
  send(limit: TimeLimit, ended: Done<T>): void
  /** The connection ended under it: the database may have done it. */
  unheard?(): void
  /** What it throws goes to `reject`. */
  resolve(value: T): void
  /** @param error a `LockError` */
  reject(error: unknown): void
}

export class Statements {
  readonly clock: Clock
  readonly #options: StatementOptions
  readonly #timeouts: RequestTimeouts
  #migration: Promise<void> | undefined
  #answered = false
  #written = false
  /** Whether the server took no writes when the store began. */
  #beganReadOnly = false
  /** Whether the server took no writes since the last one that succeeded. */
  #refusedWrites = false

  constructor(options: StatementOptions) {
    this.clock = options.clock
    this.#options = options
    this.#timeouts = new RequestTimeouts(options.clock, options.requestTimeoutMs)
  }

  /** Resolves to the result of a statement. Rejects with a `LockError`. */
  send<T>(send: (limit: TimeLimit) => Promise<T>, options: SendOptions): Promise<T> {
    return new Promise((resolve, reject) =>
      this.start<T>({
        ...options,
        send: (limit, ended) => void send(limit).then((value) => ended(undefined, value), ended),
        resolve,
        reject,
      }),
    )
  }

  /** Uses callbacks: most of a client's time for a lock of a database passes here. */
  start<T>(task: Task<T>): void {
    this.#try(task, 1)
  }

  #try<T>(task: Task<T>, tries: number): void {
    const isMovable = this.#written || (this.#beganReadOnly && tries < MAX_TRIES)
    const limit = new TimeLimit(isMovable)
    const timeout = this.#timeouts.start(() => {
      limit.over = true
      limit.giveUp?.()
      task.reject(this.#noAnswer())
    })
    task.send(limit, (error, value) => {
      if (error !== undefined) {
        if (this.#timeouts.end(timeout)) this.#tryAgain(task, error, tries)
        return
      }
      if (task.writes === true) this.#noteWrite()
      this.#answered = true
      if (this.#timeouts.end(timeout)) settle(task, value as T)
    })
  }

  #tryAgain<T>(task: Task<T>, error: unknown, tries: number): void {
    if (this.#options.isCutOff(error)) task.unheard?.()
    this.#recover(error, tries, task.repeatable).then(
      () => this.#try(task, tries + 1),
      (explained: unknown) => task.reject(explained),
    )
  }

  /** Resolves when the statement may be sent again. Rejects with the error as a `LockError`. */
  async #recover(error: unknown, tries: number, repeatable: boolean): Promise<void> {
    const options = this.#options
    if (tries >= MAX_TRIES) throw this.#explain(error)
    if (options.isRetriable(error)) return
    if (options.isReadOnly(error)) {
      // Before the first write the URL may be wrong, which the first caller learns at once. Later
      // calls leave the connections that lead to that server, as the endpoint may have moved.
      if (!this.#written && !this.#beganReadOnly) {
        this.#beganReadOnly = true
        throw this.#explain(error)
      }
      this.#refusedWrites = true
      return
    }
    // The library reports connections that ended together one after the other. The pool has to
    // learn of all of them before it lends the next one.
    if (repeatable && options.isCutOff(error))
      await new Promise<void>((resolve) => void setImmediate(resolve))
    else if (options.isUnmigrated(error) && options.migrate) await this.#migrate(options.migrate)
    // A migration of another process may be replacing the routine at this moment.
    else if (options.isUnmigrated(error) && repeatable && tries === 1)
      await pause(this.clock, REPLACEMENT_MS)
    else throw this.#explain(error)
  }

  #explain(error: unknown): LockError {
    return this.#options.explain(error, { answered: this.#answered, written: this.#written })
  }

  #noteWrite(): void {
    this.#written = true
    if (!this.#refusedWrites) return
    this.#refusedWrites = false
    this.#options.onMoved()
  }

  async #migrate(migrate: () => Promise<void>): Promise<void> {
    this.#migration ??= migrate()
    try {
      await this.#migration
    } catch (error) {
      throw this.#explain(error)
    } finally {
      this.#migration = undefined
    }
  }

  /** The outcome of a statement without an answer is unknown. */
  #noAnswer(): StoreUnavailableError {
    const { requestTimeoutMs, store } = this.#options
    const text =
      `The database did not answer within ${requestTimeoutMs} ms. The outcome is unknown. Either ` +
      'the server or the network is slow, or all connections of the pool are in use.'
    return new StoreUnavailableError(text, { store })
  }
}

function settle<T>(task: Task<T>, value: T): void {
  try {
    task.resolve(value)
  } catch (error) {
    task.reject(error)
  }
}
