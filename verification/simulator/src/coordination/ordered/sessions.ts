/** The sessions of one client of a service like ZooKeeper: those of its leases, and one to look. */
import type { Entry } from 'holdfast/internal'
import { hasCode } from './failure.js'
import type { OrderedGround } from './connection.js'
import { OrderedSession } from './session.js'
import { isOwn } from './writes.js'
import { unavailable } from '../unavailable.js'

/** The timeout of the session for work without a lease, in milliseconds. */
export const ONLOOKER_MS = 10_000

export class OrderedSessions {
  readonly #ground: OrderedGround
  readonly #sessions = new Set<OrderedSession>()
  #onlooker: Promise<OrderedSession> | undefined
  #isClosed = false

  constructor(ground: OrderedGround) {
    this.#ground = ground
  }

  async open(timeoutMs: number): Promise<OrderedSession> {
    const session = await this.#open(timeoutMs)
    for (const one of this.#sessions) if (one.isLost) this.#sessions.delete(one)
    this.#sessions.add(session)
    return session
  }

  /** The one an entry stands on; any one for an entry of another client. */
  async of(entry: Entry): Promise<OrderedSession> {
    return isOwn(entry) ? entry.session : this.any()
  }

  /** Asks through the session of an entry, or through another one where that is gone. */
  async through<T>(entry: Entry, ask: (session: OrderedSession) => Promise<T>): Promise<T> {
    try {
      return await ask(await this.of(entry))
    } catch (error) {
      if (!isOwn(entry) || !hasCode(error, 'session-expired')) throw error
      return ask(await this.any())
    }
  }

  async any(): Promise<OrderedSession> {
    for (const session of this.#sessions) if (session.isConnected) return session
    const present = this.#onlooker
    const session = await present?.catch(() => undefined)
    if (session?.isConnected === true) return session
    // The first caller opens another; all others wait for the same one.
    if (this.#onlooker === present) {
      this.#onlooker = this.#open(ONLOOKER_MS)
      void session?.end()
    }
    return this.#onlooker ?? this.any()
  }

  /** The living session of this client that has this id. */
  byId(id: bigint): OrderedSession | undefined {
    for (const session of this.#sessions) if (session.id === id && !session.isLost) return session
    return undefined
  }

  reset(): void {
    for (const session of this.#sessions) session.reset()
    this.#onlooker?.then(
      (session) => session.reset(),
      () => undefined,
    )
  }

  async endAll(): Promise<void> {
    this.#isClosed = true
    const onlooker = await this.#onlooker?.catch(() => undefined)
    const all = [...this.#sessions, ...(onlooker ? [onlooker] : [])]
    await Promise.all(all.map((session) => session.end()))
  }

  /** One that is there only after the store was closed would keep alive what is entered on it. */
  async #open(timeoutMs: number): Promise<OrderedSession> {
    if (this.#isClosed) throw storeClosed()
    const session = await OrderedSession.open(this.#ground, timeoutMs)
    if (!this.#isClosed) return session
    await session.end()
    throw storeClosed()
  }
}

function storeClosed(): Error {
  return unavailable('zookeeper-queue', 'the store is closed')
}
