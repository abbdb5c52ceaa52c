/**
 * A connection of the store's own for transactions, used by one piece of work at a time: WATCH and MULTI belong to a
 * connection, so nobody else's commands may come in between.
 *
 * A connection that broke, or that did not answer in time, is thrown away and never mended: the second half of a
 * transaction, sent again over a new connection, would run without its WATCH and delete somebody else's lock.
 */
import type { Clock } from '../../../clock/clock.js'
import { isLockError, StoreUnavailableError, type LockError } from '../../../errors.js'
import { explain, isServerError, STORE_NAME } from '../errors.js'
import { findCompareDelete, type CompareDelete } from './compare-delete.js'
import { textOf } from '../replies.js'
import type { RedisSettings } from '../store.js'
import type { OwnConnection, Transport } from '../transports/transport.js'

export type Command = readonly [name: string, ...args: string[]]
export type Work<T> = (session: Transactions) => Promise<T>

/** What work can do while it has the connection. Keys are complete. */
export interface Transactions {
  /** Deletes a key if it holds a value; undefined where the server has no command for it. */
  readonly compareDelete: CompareDelete | undefined
  /** Sends commands together; watches the keys first. Gives the replies to the commands. */
  watch(keys: readonly string[], commands: readonly Command[]): Promise<unknown[]>
  /** Ends the watching without a change. Nobody needs the answer: whatever is sent next comes after it. */
  unwatch(): void
  /** All or nothing. Undefined when a watched key has changed since. */
  transaction(commands: readonly Command[]): Promise<unknown[] | undefined>
}

/** Work that met with a broken connection is done anew so often: each verb may be repeated. */
const REPEATS = 1

export class Session {
  readonly #transport: Transport
  readonly #timeoutMs: number
  readonly #clock: Clock
  readonly #probeKey: string
  #connection: OwnConnection | undefined
  #compareDelete: CompareDelete | undefined
  #last: Promise<unknown> = Promise.resolve()
  #closed = false
  /** How much work waits here or is under way. */
  load = 0

  constructor(transport: Transport, { timeoutMs, clock, prefix }: RedisSettings) {
    this.#transport = transport
    this.#timeoutMs = timeoutMs
    this.#clock = clock
    this.#probeKey = `${transport.keyPrefix}${prefix}:simple-mode-probe`
  }

  /** Rejects at the latest after the timeout, which counts from now; with a typed error, or with what the library said. */
  run<T>(work: Work<T>): Promise<T> {
    const untilMs = this.#clock.monotonicMs() + this.#timeoutMs
    this.load += 1
    const turn = this.#last
      .then(() => this.#run(work, untilMs, REPEATS))
      .finally(() => {
        this.load -= 1
      })
    this.#last = turn.catch(() => undefined)
    return turn
  }

  close(): void {
    this.#closed = true
    this.#drop()
  }

  async #run<T>(work: Work<T>, untilMs: number, repeats: number): Promise<T> {
    if (this.#closed) throw new StoreUnavailableError('The Redis store was closed.', { store: STORE_NAME })
    // Work that waited for its turn for too long is not begun: its caller has given up.
    if (this.#clock.monotonicMs() >= untilMs) throw this.#silent()
    try {
      return await this.#within(untilMs, async () => work(await this.#open()))
    } catch (error) {
      // Whatever state the connection is in, nobody goes on from there.
      this.#drop()
      const isBroken = !isServerError(error) && !isLockError(error)
      if (isBroken && repeats > 0) return this.#run(work, untilMs, repeats - 1)
      throw error
    }
  }

  async #open(): Promise<Transactions> {
    let connection = this.#connection
    if (!connection) {
      connection = this.#transport.connect()
      this.#connection = connection
      // If MULTI were refused, what follows it would be done at once and unguarded. So it is tried out first.
      await transaction(connection, [])
      this.#compareDelete = await findCompareDelete(connection, this.#probeKey)
    }
    return over(connection, this.#compareDelete)
  }

  #within<T>(untilMs: number, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leftMs = untilMs - this.#clock.monotonicMs()
      const timer = this.#clock.timer(leftMs, () => reject(this.#silent()))
      work()
        .finally(() => timer.cancel())
        .then(resolve, reject)
    })
  }

  #silent(): LockError {
    return explain(new Error(`No answer within ${this.#timeoutMs} ms`))
  }

  #drop(): void {
    this.#connection?.close()
    this.#connection = undefined
  }
}

/** Several connections, so that work need not wait for the round trips of all other work. Each is made when it is needed. */
export class Sessions {
  readonly #all: readonly Session[]

  constructor(transport: Transport, settings: RedisSettings, count: number) {
    this.#all = Array.from({ length: count }, () => new Session(transport, settings))
  }

  run<T>(work: Work<T>): Promise<T> {
    const least = this.#all.reduce((best, one) => (one.load < best.load ? one : best))
    return least.run(work)
  }

  close(): void {
    for (const session of this.#all) session.close()
  }
}

function over(connection: OwnConnection, compareDelete: CompareDelete | undefined): Transactions {
  return {
    compareDelete,
    async watch(keys, commands) {
      const [, ...replies] = await together(connection, [['WATCH', ...keys], ...commands])
      return replies
    },
    unwatch() {
      connection.call('UNWATCH').catch(() => undefined)
    },
    transaction: (commands) => transaction(connection, commands),
  }
}

async function transaction(
  connection: OwnConnection,
  commands: readonly Command[],
): Promise<unknown[] | undefined> {
  const replies = await together(connection, [['MULTI'], ...commands, ['EXEC']])
  if (textOf(replies[0]) !== 'OK') throw new Error('The server did not begin a transaction')
  const results = replies.at(-1)
  if (results === null || results === undefined) return undefined
  return results as unknown[]
}

/** Sends all before it awaits any, and awaits all before it fails: the next work must not meet with late replies. */
async function together(connection: OwnConnection, commands: readonly Command[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(commands.map((command) => connection.call(...command)))
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
