/**
 * The one connection of `pg` that belongs to the store and not to the pool. It listens for waiters,
 * and it carries requests while the caller's pool is exhausted. It opens when it is first needed.
 */
import { withTimeout } from '../../../clock/with-timeout.js'
import { closeWithin } from './close-within.js'
import { tooLate, type TimeLimit } from '../../sql/connection/statements.js'
import type { LibraryStatement, PgPool } from './pools.js'

export interface ListenEvents {
  onNotify(payload: string): void
  /** The connection was lost. `reconnected`: the library has opened it again by itself. */
  onLost(reconnected: boolean): void
}

/** As much of a client of `pg` as is used. */
interface PgConnection {
  connect(): Promise<unknown>
  query(statement: LibraryStatement | string): Promise<{ rows: unknown[] }>
  end(): Promise<void>
  unref(): void
  on(event: 'notification', listener: (message: { payload?: string }) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  readonly connection?: { readonly stream?: { destroy(): void } }
}

/** The class with which a pool of `pg` makes its connections. It is not in the library's types. */
interface WithClient {
  readonly Client: new (options: object) => PgConnection
  readonly options: { readonly password?: unknown }
}

/** How often the connection is checked, which may have ended silently, in milliseconds. */
const CHECK_EVERY_MS = 5000
const CHECK_LIMIT_MS = 3000
/** How long connecting may take if the pool sets no limit, in milliseconds. */
const CONNECT_LIMIT_MS = 5000

export class OwnConnection {
  readonly #pool: PgPool
  #connection: Promise<PgConnection> | undefined
  #current: PgConnection | undefined
  #checking: NodeJS.Timeout | undefined
  #events: ListenEvents | undefined
  #tail: Promise<unknown> = Promise.resolve()

  constructor(pool: PgPool) {
    this.#pool = pool
  }

  /** @param limit a statement that was not sent by then is not sent */
  async query(
    statement: LibraryStatement | string,
    limit?: TimeLimit,
  ): Promise<{ rows: unknown[] }> {
    const connection = await this.#open()
    return this.#inOrder(() => {
      if (limit?.over === true) throw tooLate()
      return connection.query(statement)
    })
  }

  /** Sends one statement after the other, since the library will drop its own queue. */
  #inOrder<T>(send: () => Promise<T>): Promise<T> {
    const sent = this.#tail.then(send)
    this.#tail = sent.catch(() => undefined)
    return sent
  }

  /** Rejects when the connection cannot be opened. `events.onLost` reports its end, once. */
  async listen(channel: string, events: ListenEvents): Promise<void> {
    await this.query(`listen "${channel}"`)
    this.#events = events
  }

  /** Ends the connection as if it were lost. */
  leave(): void {
    if (this.#current) this.#lost(this.#current)
  }

  async close(): Promise<void> {
    const connecting = this.#connection
    this.#current = this.#connection = this.#events = undefined
    clearInterval(this.#checking)
    // A connection that is still being opened is closed once it is open.
    const ended = connecting?.then(end, () => undefined) // it was never open
    await closeWithin(ended)
  }

  #open(): Promise<PgConnection> {
    this.#connection ??= this.#connect().catch((error: unknown) => {
      this.#connection = undefined
      throw error
    })
    return this.#connection
  }

  async #connect(): Promise<PgConnection> {
    const { Client, options } = this.#pool as unknown as WithClient
    // The pool makes its password not enumerable, so a copy of its options lacks it.
    const { password } = options
    const connection = new Client({
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
      ...options,
      password,
    })
    const lost = (): void => this.#lost(connection)
    connection.on('error', lost)
    connection.on('end', lost)
    connection.on('notification', ({ payload }) => this.#events?.onNotify(payload ?? ''))
    try {
      await connection.connect()
    } catch (error) {
      void connection.end().catch(() => undefined) // it never worked
      throw error
    }
    this.#current = connection
    // An idle connection does not keep the process alive. The time limit of each request does.
    connection.unref()
    this.#tail = Promise.resolve()
    const check = (): Promise<unknown> =>
      withTimeout(
        this.#inOrder(() => connection.query('select 1')),
        CHECK_LIMIT_MS,
        noAnswer,
        { background: true },
      )
    this.#checking = setInterval(() => void check().catch(lost), CHECK_EVERY_MS)
    this.#checking.unref()
    return connection
  }

  /** Also called for a connection that `close` has ended, which is no loss. */
  #lost(connection: PgConnection): void {
    void connection.end().catch(() => undefined) // it is broken, or ended already
    if (this.#current !== connection) return
    clearInterval(this.#checking)
    const events = this.#events
    this.#current = this.#connection = this.#events = undefined
    events?.onLost(false)
  }
}

function noAnswer(): Error {
  return new Error('the connection does not answer')
}

/** Ends a connection. On a silent one the library would wait forever for the server's end. */
async function end(connection: PgConnection): Promise<void> {
  const { stream } = connection.connection ?? {}
  await closeWithin(connection.end(), () => stream?.destroy())
}
