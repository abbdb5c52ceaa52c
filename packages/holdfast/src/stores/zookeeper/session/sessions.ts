/**
 * The sessions of a store: those of its leases, and one for reads, steals and refusals.
 */
import type { Clock } from '../../../clock/clock.js'
import { storeClosed } from '../../../store/errors.js'
import type { Entry, Exactness } from '../../coordination/connection/service.js'
import { isSessionGone } from '../errors.js'
import type { ZooKeeperOptions } from '../options.js'
import { ZooKeeperSession } from './session.js'

/**
 * The session for work without a lease. No promise stands on it, so any other granted length will
 * do.
 */
export const ONLOOKER_MS = 10_000

/** An entry of this client. */
export interface OwnEntry extends Entry {
  /** The one it stands on now. */
  session: ZooKeeperSession
}

export class OpenSessions {
  readonly #options: ZooKeeperOptions
  readonly #clock: Clock
  readonly #sessions = new Set<ZooKeeperSession>()
  #onlooker: Promise<ZooKeeperSession> | undefined
  #closed = false

  constructor(options: ZooKeeperOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  async open(timeoutMs: number, exactness: Exactness): Promise<ZooKeeperSession> {
    const session = await this.#open(timeoutMs, exactness)
    for (const one of this.#sessions) if (one.lost) this.#sessions.delete(one)
    this.#sessions.add(session)
    return session
  }

  /** The one an entry stands on; any one for an entry of another client. */
  async of(entry: Entry): Promise<ZooKeeperSession> {
    return isOwn(entry) ? entry.session : this.any()
  }

  /**
   * Asks through the session that an entry stands on. Where that session is gone, another one
   * answers. A request without an answer may have moved the entry to a session that lives.
   */
  async through<T>(entry: Entry, ask: (session: ZooKeeperSession) => Promise<T>): Promise<T> {
    try {
      return await ask(await this.of(entry))
    } catch (error) {
      if (!isOwn(entry) || !isSessionGone(error)) throw error
      return ask(await this.any())
    }
  }

  async any(): Promise<ZooKeeperSession> {
    for (const session of this.#sessions) if (session.connected) return session
    const present = this.#onlooker
    const session = await present?.catch(() => undefined)
    if (session?.connected === true) return session
    // The first caller opens another; all others wait for the same one.
    if (this.#onlooker === present) {
      this.#onlooker = this.#open(ONLOOKER_MS, 'any')
      void session?.end()
    }
    return this.#onlooker ?? this.any()
  }

  /** The session of this client that has this id. */
  byId(id: bigint): ZooKeeperSession | undefined {
    for (const session of this.#sessions) if (session.id === id && !session.lost) return session
    return undefined
  }

  async endAll(): Promise<void> {
    this.#closed = true
    const onlooker = await this.#onlooker?.catch(() => undefined)
    await Promise.all(
      [...this.#sessions, ...(onlooker ? [onlooker] : [])].map((session) => session.end()),
    )
  }

  /** One that is there only after the store was closed would keep alive what is entered on it. */
  async #open(timeoutMs: number, exactness: Exactness | 'any'): Promise<ZooKeeperSession> {
    if (this.#closed) throw storeClosed('zookeeper')
    const session = await ZooKeeperSession.open(this.#options, timeoutMs, exactness, this.#clock)
    if (!this.#closed) return session
    await session.end()
    throw storeClosed('zookeeper')
  }
}

export function isOwn(entry: Entry): entry is OwnEntry {
  return 'session' in entry
}
