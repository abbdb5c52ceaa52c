/**
 * Wakes the waiters of a client. One connection listens on the client's channel. A session that
 * grants to one of its waiters sends a notification, which carries the grant.
 */
import { systemRandom } from '../../clock/clock.js'
import { pause } from '../../clock/pause.js'
import { settlesWithin } from '../../clock/settles-within.js'
import { StoreUnavailableError } from '../../errors.js'
import type { PushedGrant } from '../../store/contract.js'
import type { WakeUpEvents } from '../sql/connection/database.js'
import type { Statements } from '../sql/connection/statements.js'
import type { Client } from './connection/port.js'

/** How long to wait before a lost connection is opened again, in ms: at first, and at most. */
const RECONNECT_MS = [100, 1000] as const
/** How long a notification of this client to itself may take, in milliseconds. */
const PROBE_MS = 2000

export class WakeUpListener {
  readonly #client: Client
  readonly #statements: Statements
  readonly #channel: string
  /** Those of the latest start. Work that was begun for an earlier one ends when it notices. */
  #events: WakeUpEvents | undefined
  #probed: (() => void) | undefined

  constructor(client: Client, statements: Statements, channel: string) {
    this.#client = client
    this.#statements = statements
    this.#channel = channel
  }

  /** Resolves when no message can be missed any more. Rejects when messages do not arrive. */
  async start(events: WakeUpEvents): Promise<void> {
    this.#events = events
    await this.#connect(events)
    await this.#probe()
  }

  stop(): Promise<void> {
    this.#events = undefined
    return this.#client.closeListener()
  }

  async #connect(events: WakeUpEvents): Promise<void> {
    const onNotify = (payload: string): void => {
      if (payload === '') this.#probed?.()
      else this.#wake(payload, events)
    }
    const onLost = (reconnected: boolean): void => {
      if (reconnected) events.onHint()
      else if (this.#events) void this.#reconnect(this.#events, 0)
    }
    await this.#statements.send(() => this.#client.listen(this.#channel, { onNotify, onLost }), {
      repeatable: false,
    })
    // The last waiter may have gone while the connection was opened.
    if (!this.#events) await this.#client.closeListener()
  }

  /** Tries as long as a waiter listens. Waiters ask once a second meanwhile. */
  async #reconnect(events: WakeUpEvents, tries: number): Promise<void> {
    const [shortestMs, longestMs] = RECONNECT_MS
    const delayMs = Math.min(longestMs, shortestMs * 2 ** tries) * (0.5 + systemRandom.next() / 2)
    await pause(this.#statements.clock, delayMs, true)
    if (this.#events !== events) return
    try {
      await this.#connect(events)
      events.onHint()
    } catch {
      void this.#reconnect(events, tries + 1)
    }
  }

  /**
   * Sends a notification to this client. A pooler that gives each transaction another connection
   * accepts LISTEN, and no notification ever arrives.
   */
  async #probe(): Promise<void> {
    const probed = new Promise<void>((resolve) => (this.#probed = resolve))
    const heard = settlesWithin(probed, PROBE_MS, {
      clock: this.#statements.clock,
      background: true,
    })
    const text = 'select pg_notify($1::text, $2::text)'
    const statement = { name: undefined, text, values: [this.#channel, ''] }
    await this.#statements.send((limit) => this.#client.query(statement, limit), {
      repeatable: true,
    })
    if (await heard) return
    throw new StoreUnavailableError(
      'NOTIFY does not reach the connection that listens. A pooler in transaction mode seems to be in ' +
        'between. Locks work, but waiters only ask again once a second. Give the store a pool that ' +
        'connects directly.',
      { code: 'STORE_CONFIG', store: 'postgres' },
    )
  }

  #wake(payload: string, events: WakeUpEvents): void {
    const message = /^\["([\w.-]+)", "(\d+)", (\d+), ([\d.]+)\]$/.exec(payload)
    // Another program that can read the table of waiters may send anything.
    if (!message) return events.onHint()
    const [, id = '', token = '', tokens, ttlMs] = message
    const grant: PushedGrant = {
      token: BigInt(token),
      tokens: Number(tokens),
      ttlMs: Number(ttlMs),
    }
    events.onGrant(id, grant)
  }
}
