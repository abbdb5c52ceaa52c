/**
 * The one connection of `pg` that is ours and not the pool's. It listens for those who wait, and it
 * carries what cannot wait while the caller's pool is exhausted. It is made when it is first
 * needed.
 */
import { withTimeout } from '../../clock/with-timeout.js'
import { closeWithin } from './close-within.js'
import type { PgPool, PgStatement } from './pools.js'

export interface ListenEvents {
  onNotify(payload: string): void
  /** The connection was lost. `again` says whether the library has connected anew by itself. */
  onLost(again: boolean): void
}

/** As much of a client of `pg` as is used. */
interface PgConnection {
  connect(): Promise<unknown>
  query(statement: PgStatement | string): Promise<{ rows: unknown[] }>
  end(): Promise<void>
  unref(): void
  on(event: 'notification', listener: (message: { payload?: string }) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  readonly connection?: { readonly stream?: { destroy(): void } }
}

/** Not in the library's types, but what its pools make their own connections with. */
interface WithClient {
  readonly Client: new (options: object) => PgConnection
  readonly options: { readonly password?: unknown }
}

/**
 * How often to look whether the connection is alive: nobody else would notice that it ended in
 * silence.
 */
const LOOK_EVERY_MS = 5000
const LOOK_LIMIT_MS = 3000
/** Unless the pool has a limit of its own. */
const CONNECT_LIMIT_MS = 5000

export class OwnConnection {
  readonly #pool: PgPool
  #connection: Promise<PgConnection> | undefined
  #current: PgConnection | undefined
  #looking: NodeJS.Timeout | undefined
  #events: ListenEvents | undefined
  #tail: Promise<unknown> = Promise.resolve()

  constructor(pool: PgPool) {
    this.#pool = pool
  }

  async query(statement: PgStatement | string): Promise<{ rows: unknown[] }> {
    const connection = await this.#open()
    return this.#inTurn(() => connection.query(statement))
  }

  /** One statement after the other: the library will stop to keep a queue of its own. */
  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    const sent = this.#tail.then(send)
    this.#tail = sent.catch(() => undefined)
    return sent
  }

  /** Rejects when the connection cannot be made. `events.onLost` tells of its end, once. */
  async listen(channel: string, events: ListenEvents): Promise<void> {
    await this.query(`listen "${channel}"`)
    this.#events = events
  }

  async rest(): Promise<void> {
    const connecting = this.#connection
    this.#current = this.#connection = this.#events = undefined
    clearInterval(this.#looking)
    // What is not made yet is ended as soon as it is. Nobody waits for that.
    const ended = connecting?.then(end, () => undefined) // it was never made
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
    // The pool hides the password from whoever prints its options, and so from a copy of them, too.
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
    // A process may end while it is idle. The limit of each request keeps the process for as long
    // as it has to be.
    connection.unref()
    this.#tail = Promise.resolve()
    const look = (): Promise<unknown> =>
      withTimeout(
        this.#inTurn(() => connection.query('select 1')),
        LOOK_LIMIT_MS,
        silent,
        { background: true },
      )
    this.#looking = setInterval(() => void look().catch(lost), LOOK_EVERY_MS)
    this.#looking.unref()
    return connection
  }

  /** Also called for a connection that was put to rest, whose end is no loss. */
  #lost(connection: PgConnection): void {
    void connection.end().catch(() => undefined) // it is broken, or ended already
    if (this.#current !== connection) return
    clearInterval(this.#looking)
    const events = this.#events
    this.#current = this.#connection = this.#events = undefined
    events?.onLost(false)
  }
}

function silent(): Error {
  return new Error('the connection does not answer')
}

/** A goodbye would wait for that of the server, for ever where nothing arrives any more. */
async function end(connection: PgConnection): Promise<void> {
  const { stream } = connection.connection ?? {}
  await closeWithin(connection.end(), () => stream?.destroy())
}
