/** What changes the queues of a service like ZooKeeper. Each change is a request of its own. */
import type { Entry, EntryData } from 'holdfast/internal'
import type { ClaimRef } from 'holdfast/store'
import type { OrderedSession } from './session.js'
import type { CoordinationServer } from '../server.js'

/** An entry of this client. */
export interface OwnEntry extends Entry {
  /** The session on which it stands now. */
  session: OrderedSession
}

export function isOwn(entry: Entry): entry is OwnEntry {
  return 'session' in entry
}

export class OrderedWrites {
  readonly #server: CoordinationServer

  constructor(server: CoordinationServer) {
    this.#server = server
  }

  /** Makes an entry again on another session, in its place. False when it has changed. */
  move(entry: Entry, data: EntryData, version: bigint, session: OrderedSession): Promise<boolean> {
    return session.ask({
      kind: 'write',
      handle: () => {
        const found = this.#server.entryAt(entry.lock, entry.key)
        if (found?.version !== version || session.id === undefined) return false
        this.#server.replace(found, { data, version: 0n, sessionId: session.id })
        return true
      },
    })
  }

  /** Returns the new version, or undefined when the entry has changed or has gone. */
  write(
    session: OrderedSession,
    entry: Entry,
    data: EntryData,
    version: bigint,
  ): Promise<bigint | undefined> {
    return session.ask({
      kind: 'write',
      handle: () => {
        const found = this.#server.entryAt(entry.lock, entry.key)
        if (found?.version !== version) return undefined
        return this.#server.replace(found, { data, version: version + 1n }).version
      },
    })
  }

  /** False when it was not there. */
  remove(session: OrderedSession, { lock, key }: Entry): Promise<boolean> {
    return session.ask({
      kind: 'write',
      handle: () => {
        const found = this.#server.entryAt(lock, key)
        if (found) this.#server.remove(found)
        return found !== undefined
      },
    })
  }

  /** Without an answer it is done when the connection is back: the session keeps the entry. */
  async removeNowOrLater(session: OrderedSession, entry: Entry): Promise<boolean> {
    try {
      return await this.remove(session, entry)
    } catch (error) {
      session.doLater(entry.key, () => this.remove(session, entry))
      throw error
    }
  }

  /** Leaves a mark that refuses a claim. It goes with the session. */
  async mark(session: OrderedSession, { lock, id }: ClaimRef): Promise<void> {
    await session.ask({
      kind: 'write',
      handle: () => {
        const sessionId = session.id
        if (sessionId !== undefined && !this.#server.queues.of(lock).gone.has(id))
          this.#server.noteGone(lock, id, { sessionId })
      },
    })
  }

  async unmark(session: OrderedSession, { lock, id }: ClaimRef): Promise<void> {
    const handle = (): void => this.#server.forgetGone(lock, id)
    await session.ask({ kind: 'write', handle })
  }
}
