/** The sessions of a store: those of its leases, and one for whoever only looks, steals or refuses. */
import type { Entry } from '../sequenced/port.js'
import type { ZooKeeperOptions } from './options.js'
import { ZooKeeperSession } from './session.js'

/** The session of those who have no lease. */
export const ONLOOKER_MS = 10_000

/** An entry of this client. */
export interface OwnEntry extends Entry {
  readonly session: ZooKeeperSession
}

export class OpenSessions {
  readonly #options: ZooKeeperOptions
  readonly #sessions = new Set<ZooKeeperSession>()
  #onlooker: Promise<ZooKeeperSession> | undefined

  constructor(options: ZooKeeperOptions) {
    this.#options = options
  }

  async open(timeoutMs: number): Promise<ZooKeeperSession> {
    const session = await ZooKeeperSession.open(this.#options, timeoutMs)
    for (const one of this.#sessions) if (one.lost) this.#sessions.delete(one)
    this.#sessions.add(session)
    return session
  }

  /** The one an entry stands on; any one for an entry of somebody else. */
  async of(entry: Entry): Promise<ZooKeeperSession> {
    return isOwn(entry) ? entry.session : this.any()
  }

  async any(): Promise<ZooKeeperSession> {
    for (const session of this.#sessions) if (session.connected) return session
    const present = this.#onlooker
    const session = await present?.catch(() => undefined)
    if (session?.connected === true) return session
    // Whoever comes first opens another; all others wait for the same one.
    if (this.#onlooker === present) {
      this.#onlooker = ZooKeeperSession.open(this.#options, ONLOOKER_MS)
      void session?.end()
    }
    return this.#onlooker ?? this.any()
  }

  async endAll(): Promise<void> {
    const onlooker = await this.#onlooker?.catch(() => undefined)
    await Promise.all([...this.#sessions, ...(onlooker ? [onlooker] : [])].map((session) => session.end()))
  }
}

export function isOwn(entry: Entry): entry is OwnEntry {
  return 'session' in entry
}
