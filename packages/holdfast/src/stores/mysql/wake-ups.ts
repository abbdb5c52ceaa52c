/**
 * Wakes the waiters of a client. One connection of the caller's pool sleeps in a statement that
 * contains the client's channel. A session that grants to one of its waiters interrupts it.
 *
 * An interruption between two sleeps is missed. So the next sleep starts before any waiter asks
 * again: a grant that the waiter does not see yet comes while the connection sleeps.
 *
 * On one server only one session sleeps in `sleep()`, which has the lock `holdfast_asleep`. All
 * others wait for that lock. Every `sleep()` of MariaDB shares one mutex of the server, and KILL
 * QUERY only tries that mutex. If another sleeper has it just then, the killed session wakes and
 * takes the mutex. It then waits for the session that kills it, which tries again for two seconds.
 * All that time no session can be woken. A wait for a lock has a mutex of its own.
 */
import { pause } from '../../clock/pause.js'
import { StoreUnavailableError } from '../../errors.js'
import type { WakeUpEvents } from '../sql/connection/database.js'
import type { Statements } from '../sql/connection/statements.js'
import { statement, type MysqlConnection, type Connections } from './connection/clients.js'
import { execute } from './connection/loans.js'
import { limitOf } from './connection/outside-transaction.js'
import { isInterrupted } from './errors.js'

/**
 * How long a session waits for the lock, and then sleeps, in seconds. Both together are less than
 * proxies and firewalls let a connection idle.
 */
const SLEEP_S = 25
/** How long the server may take to start the sleep, in milliseconds. */
const READY_MS = 3000
const CHECK_EVERY_MS = 10
/** How long to wait before a lost connection is opened again, in milliseconds. */
const RETRY_MS = 500

export class WakeUpListener {
  readonly #pool: Connections
  readonly #statements: Statements
  readonly #channel: string
  readonly #events: WakeUpEvents
  #connection: MysqlConnection | undefined
  #stopped = false
  #replacing = false

  constructor(pool: Connections, statements: Statements, channel: string, events: WakeUpEvents) {
    this.#pool = pool
    this.#statements = statements
    this.#channel = channel
    this.#events = events
  }

  /** Resolves when the server shows that the connection sleeps. */
  async start(): Promise<void> {
    if (limitOf(this.#pool) < 2) {
      throw new StoreUnavailableError(
        'The pool has one connection, which the locks themselves need. Waiters only ask again once a ' +
          'second. Give the pool a connectionLimit of 2 or more.',
        { code: 'STORE_CONFIG', store: 'mysql' },
      )
    }
    await this.#statements.send(
      async (limit) => {
        const connection = await this.#pool.getConnection()
        if (this.#stopped || limit.over) return connection.destroy()
        this.#connection = connection
        void this.#listen(connection)
      },
      { repeatable: false },
    )
    await this.#untilAsleep()
  }

  /** Closes the connection: a late interruption would hit a statement of its next user. */
  stop(): void {
    this.#stopped = true
    this.#connection?.destroy()
    this.#connection = undefined
  }

  /** Sleeps on another connection: this one may lead to a replaced server. */
  leave(): void {
    this.#connection?.destroy()
    this.#connection = undefined
    void this.#replace()
  }

  async #listen(connection: MysqlConnection): Promise<void> {
    try {
      let asleep = this.#sleep(connection)
      while (!this.#stopped) {
        const interrupted = await asleep
        asleep = this.#sleep(connection)
        if (interrupted) this.#events.onSomeGrant()
      }
      await asleep
    } catch {
      connection.destroy()
      if (this.#connection === connection) this.#connection = undefined
      void this.#replace()
    }
  }

  /**
   * Opens a new connection, and tries as long as a waiter waits. Waiters ask once a second
   * meanwhile. It runs once at a time. A connection can break while `start` runs, which reports it
   * too. One of two new connections would then be forgotten.
   */
  async #replace(): Promise<void> {
    if (this.#replacing) return
    this.#replacing = true
    while (!this.#stopped && !this.#connection) {
      await pause(this.#statements.clock, RETRY_MS, true)
      if (this.#stopped) break
      try {
        await this.start()
        this.#events.onHint()
      } catch {
        // Either there is no connection, and the next round opens one, or only the check of it
        // failed.
      }
    }
    this.#replacing = false
  }

  /** Resolves to whether the sleep was interrupted. */
  async #sleep(connection: MysqlConnection): Promise<boolean> {
    try {
      const [rows] = await connection.query(
        statement(
          `select sleeping.woken, '${this.#channel}' as channel from (select case ` +
            `get_lock('holdfast_asleep', ${SLEEP_S}) when 1 then sleep(${SLEEP_S}) ` +
            'when 0 then 0 else 1 end as woken) as sleeping',
        ),
      )
      return Number((rows as { woken: unknown }[])[0]?.woken) === 1
    } catch (error) {
      if (isInterrupted(error)) return true
      throw error
    }
  }

  async #untilAsleep(): Promise<void> {
    const check = statement(
      'select count(*) as sleeping from information_schema.processlist where info like ?',
      [`select sleep%${this.#channel}%`],
    )
    const { clock } = this.#statements
    const endMs = clock.monotonicMs() + READY_MS
    while (clock.monotonicMs() < endMs) {
      const rows = await this.#statements.send((limit) => execute(this.#pool, check, limit), {
        repeatable: true,
      })
      if (this.#stopped || Number((rows as { sleeping: unknown }[])[0]?.sleeping) > 0) return
      await pause(clock, CHECK_EVERY_MS)
    }
    throw new StoreUnavailableError(
      'The server does not show the statement that wakes waiters. A proxy seems to be in between. ' +
        'Locks work, but waiters only ask again once a second.',
      { code: 'STORE_CONFIG', store: 'mysql' },
    )
  }
}
