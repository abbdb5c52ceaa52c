/**
 * The modelled server of a coordination service: sessions, queues of entries that are bound to
 * them, and what listens to changes. Its steps are atomic. It grants nothing: position is the
 * grant, and the recipe of the store reads positions.
 */
import type { EntryData } from 'holdfast/internal'
import { Host } from '../server/host.js'
import type { Truth } from '../server/truth.js'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'
import {
  holdersOf,
  Queues,
  type Gone,
  type KeyChange,
  type Queue,
  type StoredEntry,
} from './queues.js'
import { ServerSessions, type ExpiryRule, type ServerSession } from './sessions.js'

/** Takes the changes of a lock, at the moment in which they are made. */
export type ChangeListener = (lock: string, changes: readonly KeyChange[]) => void

/** The first token of an entry that was never exported, from its number: see `wire.ts`. */
const TOKENS_PER_ENTRY = 256n

export class CoordinationServer {
  readonly host: Host
  readonly truth: Truth
  readonly queues = new Queues()
  readonly sessions: ServerSessions
  readonly listeners = new Set<ChangeListener>()
  /** Called when the server dies: the connections to it are gone. */
  readonly crashListeners = new Set<() => void>()
  readonly #agenda: Agenda

  constructor(agenda: Agenda, clock: MachineClock, truth: Truth, expiry: ExpiryRule) {
    this.#agenda = agenda
    this.truth = truth
    this.sessions = new ServerSessions(agenda, clock, expiry, {
      heard: ({ locks }) => {
        for (const lock of locks) this.#observe(lock)
      },
      ended: (session) => this.#removeAll(session),
    })
    this.host = new Host(agenda, clock, {
      onCrash: () => {
        for (const closed of [...this.crashListeners]) closed()
      },
      onDataLoss: () => this.#forgetAll(),
      onBoot: () => this.sessions.restart(),
    })
    this.sessions.host = this.host
  }

  get nowMs(): number {
    return this.#agenda.nowMs
  }

  entryAt(lock: string, key: string): StoredEntry | undefined {
    return this.queues.of(lock).entries.find((entry) => entry.key === key)
  }

  /** Makes an entry, the last one of its lock. Its number is the revision of this change. */
  make(entry: Omit<StoredEntry, 'number' | 'version'>, version?: bigint): StoredEntry {
    const number = this.queues.nextRevision
    const made = { ...entry, number, version: version ?? number }
    this.sessions.get(made.sessionId)?.locks.add(made.lock)
    this.#change(made.lock, { entries: [...this.queues.of(made.lock).entries, made] })
    return made
  }

  /** Changes an entry where it stands. */
  replace(entry: StoredEntry, next: Partial<StoredEntry>): StoredEntry {
    const { lock } = entry
    const changed = { ...entry, ...next }
    this.sessions.get(changed.sessionId)?.locks.add(lock)
    const entries = this.queues.of(lock).entries.map((one) => (one === entry ? changed : one))
    this.#change(lock, { entries })
    return changed
  }

  /** Takes an entry out, and leaves a word of its claim where one is given. */
  remove(entry: StoredEntry, gone?: Gone): void {
    const queue = this.queues.of(entry.lock)
    const entries = queue.entries.filter((one) => one !== entry)
    this.#change(entry.lock, {
      entries,
      ...(gone && { gone: new Map(queue.gone).set(entry.id, gone) }),
    })
  }

  /** Leaves a word of a claim. */
  noteGone(lock: string, id: string, gone: Gone): void {
    if (gone.sessionId !== undefined) this.sessions.get(gone.sessionId)?.locks.add(lock)
    this.#change(lock, { gone: new Map(this.queues.of(lock).gone).set(id, gone) })
  }

  /** Forgets the word of a claim. */
  forgetGone(lock: string, id: string): void {
    const gone = new Map(this.queues.of(lock).gone)
    if (gone.delete(id)) this.#change(lock, { gone })
  }

  /** What clients have in any queue, and what no client holds left out. */
  get ownedEntries(): StoredEntry[] {
    const { queues } = this
    return queues.locks
      .flatMap((lock) => queues.of(lock).entries)
      .filter(({ data }) => data.detached !== true)
  }

  #change(lock: string, next: Partial<Pick<Queue, 'entries' | 'gone'>>): void {
    const changes = this.queues.change(lock, this.nowMs, next)
    this.#observe(lock)
    if (changes.length > 0) for (const listener of [...this.listeners]) listener(lock, changes)
  }

  #removeAll({ id, locks }: ServerSession): void {
    for (const lock of locks) {
      const { entries, gone } = this.queues.of(lock)
      const kept = entries.filter(({ sessionId }) => sessionId !== id)
      const words = [...gone].filter(([, { sessionId }]) => sessionId !== id)
      if (kept.length === entries.length && words.length === gone.size) continue
      this.#change(lock, { entries: kept, gone: new Map(words) })
    }
  }

  #forgetAll(): void {
    const locks = this.queues.locks.map((lock) => ({ lock, queue: this.queues.of(lock) }))
    this.queues.clear()
    this.sessions.forgetAll()
    this.truth.forgetAll()
    for (const { lock, queue } of locks) {
      const changes = queue.entries.map(({ key }) => ({ key, isGone: true }))
      for (const listener of [...this.listeners]) listener(lock, changes)
    }
  }

  /** Notes who holds a lock now, and until when. */
  #observe(lock: string): void {
    const holders = holdersOf(this.queues.of(lock).entries)
    for (const { id, number, data } of holders)
      this.truth.reserved(id, { token: firstTokenOf(number, data), tokens: data.tokens ?? 1 })
    this.truth.note(
      lock,
      holders.map(({ id, number, data, sessionId }) => ({
        claimId: id,
        owner: data.owner,
        weight: data.weight,
        token: firstTokenOf(number, data),
        heldMs: 0,
        remainingMs: this.sessions.leftMs(sessionId),
        stolen: data.stolen === true,
      })),
    )
  }
}

function firstTokenOf(number: bigint, { tokenOffset = 0 }: EntryData): bigint {
  return number * TOKENS_PER_ENTRY + BigInt(tokenOffset)
}
