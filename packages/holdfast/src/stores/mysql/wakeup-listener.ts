/**
 * How a client is woken: one connection sleeps in a statement that has the client's channel in it,
 * and whoever makes one of its waiters a holder interrupts that statement. The connection is lent
 * by the caller's pool while somebody waits.
 *
 * A call that comes between two sleeps is missed. So the next sleep begins before anybody looks,
 * and what the look does not see happens while it sleeps.
 */
import { systemClock } from '../../clock/clock.js'
import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailableError } from '../../errors.js'
import type { BellEvents } from '../sql/database.js'
import type { Statements } from '../sql/statements.js'
import { execute, limitOf, statement, type MysqlConnection, type Connections } from './clients.js'
import { isInterrupted } from './errors.js'

/** Long, and shorter than what proxies and firewalls take for a dead connection, in seconds. */
const SLEEP_S = 50
/** How long the server may take to begin the sleep. */
const READY_MS = 3000
const CHECK_EVERY_MS = 10
/** How long to wait before a lost connection is replaced, in milliseconds. */
const RETRY_MS = 500

export class WakeupListener {
  readonly #pool: Connections
  readonly #statements: Statements
  readonly #channel: string
  readonly #events: BellEvents
  #connection: MysqlConnection | undefined
  #over = false
  #replacing = false

  constructor(pool: Connections, statements: Statements, channel: string, events: BellEvents) {
    this.#pool = pool
    this.#statements = statements
    this.#channel = channel
    this.#events = events
  }

  /** Resolves when a call would be heard. */
  async start(): Promise<void> {
    if (limitOf(this.#pool) < 2) {
      throw new StoreUnavailableError(
        'The pool has one connection, which is needed for the locks themselves: waiters look again once a second only. ' +
          'Give the pool a connectionLimit of 2 or more.',
        { code: 'STORE_CONFIG', store: 'mysql' },
      )
    }
    await this.#statements.send(async (limit) => {
      const connection = await this.#pool.getConnection()
      if (this.#over || limit.over) return connection.destroy()
      this.#connection = connection
      void this.#listen(connection)
    }, false)
    await this.#untilAsleep()
  }

  /** Not given back to the pool: a late call would interrupt the statement of somebody else. */
  stop(): void {
    this.#over = true
    this.#connection?.destroy()
    this.#connection = undefined
  }

  async #listen(connection: MysqlConnection): Promise<void> {
    try {
      let asleep = this.#sleep(connection)
      while (!this.#over) {
        const called = await asleep
        asleep = this.#sleep(connection)
        if (called) this.#events.onHint()
      }
      await asleep
    } catch {
      connection.destroy()
      if (this.#connection === connection) this.#connection = undefined
      void this.#replace()
    }
  }

  /**
   * Tries for as long as somebody waits. The floor does meanwhile. Only one of it at a time: a
   * connection can break while the bell is being hung, which the one who hangs it hears as well,
   * and of two new connections one would be forgotten.
   */
  async #replace(): Promise<void> {
    if (this.#replacing) return
    this.#replacing = true
    while (!this.#over && !this.#connection) {
      await pause(RETRY_MS, undefined, { ref: false })
      if (this.#over) break
      try {
        await this.start()
        this.#events.onHint()
      } catch {
        // Either there is no connection, and the next round makes one, or there is one and only the
        // look at it failed.
      }
    }
    this.#replacing = false
  }

  /** Resolves to whether it was woken. */
  async #sleep(connection: MysqlConnection): Promise<boolean> {
    try {
      const [rows] = await connection.query(
        statement(`select sleep(${SLEEP_S}) as woken, '${this.#channel}' as bell`),
      )
      return Number((rows as { woken: unknown }[])[0]?.woken) === 1
    } catch (error) {
      if (isInterrupted(error)) return true
      throw error
    }
  }

  async #untilAsleep(): Promise<void> {
    const look = statement(
      'select count(*) as sleeping from information_schema.processlist where info like ?',
      [`select sleep%${this.#channel}%`],
    )
    const endMs = systemClock.monotonicMs() + READY_MS
    while (systemClock.monotonicMs() < endMs) {
      const rows = await this.#statements.send((limit) => execute(this.#pool, look, limit), true)
      if (this.#over || Number((rows as { sleeping: unknown }[])[0]?.sleeping) > 0) return
      await pause(CHECK_EVERY_MS)
    }
    throw new StoreUnavailableError(
      'The statement that others are to interrupt is not seen on the server: a proxy is in between, it seems. ' +
        'Locks work, but waiters look again once a second only.',
      { code: 'STORE_CONFIG', store: 'mysql' },
    )
  }
}
