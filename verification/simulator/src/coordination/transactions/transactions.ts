/**
 * The transactions of a service like etcd: each compares what the client has seen, and does
 * something or something else, in one step.
 */
import type {
  Absent,
  Entry,
  EntryData,
  EntryQuery,
  ListedQueue,
  Present,
  QueuePosition,
  Waits,
} from 'holdfast/internal'
import type { Claim, ClaimRef } from 'holdfast/store'
import type { Recipe } from '../../runtime.js'
import { shapeOf, strangerIn, type Gone, type StoredEntry } from '../queues.js'
import type { CoordinationServer } from '../server.js'

/** An entry that is to be made. */
export interface Planned {
  readonly claim: Claim
  readonly data: EntryData
  readonly key: string
  readonly holderId: bigint
  readonly waiterId: bigint | undefined
  /** It is likely to fit beside others: it enters on the session for leases, and looks. */
  readonly mayFit: boolean
  /** It enters on the session for waiters without looking. */
  readonly joins: boolean
}

export type MadeEntry = QueuePosition & {
  readonly outcome: 'made'
  readonly entry: StoredEntry
  readonly onWaiterSession: boolean
}

export type EnterAnswer =
  | MadeEntry
  | { readonly outcome: 'busy' | 'withdrawn' | 'no-session' | 'occupied' }
  | { readonly outcome: 'mismatch'; readonly data: EntryData }

const BEHIND_MANY = { before: [], weight: Infinity }

export class Transactions {
  readonly #server: CoordinationServer
  readonly #recipe: Recipe

  constructor(server: CoordinationServer, recipe: Recipe) {
    this.#server = server
    this.#recipe = recipe
  }

  enter(planned: Planned): EnterAnswer {
    const { claim, data, key, holderId, waiterId, mayFit, joins } = planned
    const { lock, id } = claim
    const { entries, gone } = this.#server.queues.of(lock)
    const own = entries.find((entry) => entry.key === key)
    if (gone.has(id)) return { outcome: 'withdrawn' }
    if (own && own.id !== id) return { outcome: 'occupied' }
    if (own) return this.#reenter(planned, own)
    const stranger = strangerIn(entries, claim)
    if (stranger) return { outcome: 'mismatch', data: stranger.data }
    const position = this.#before(claim, entries)
    const isFree = rivalsOf(claim, entries).length === 0
    const fits = this.#recipe.mayGo(claim, position)
    if (!isFree && waiterId === undefined && !mayFit && !fits) return { outcome: 'busy' }
    const onWaiterSession = waiterId !== undefined && (joins || !isFree)
    const sessionId = onWaiterSession ? waiterId : holderId
    if (!this.#server.sessions.get(sessionId)) return { outcome: 'no-session' }
    const entry = this.#server.make({ lock, id, key, data, sessionId, shape: shapeOf(claim) })
    const seen = joins ? BEHIND_MANY : position
    return { outcome: 'made', entry, onWaiterSession, ...seen, moment: entry.version }
  }

  /** What stands before an entry. Undefined when it has gone. */
  before(entry: Entry, claim: Claim): QueuePosition | undefined {
    const found = this.#server.entryAt(entry.lock, entry.key)
    if (found?.number !== entry.number) return undefined
    return { ...this.#positionOf(claim, entry), moment: this.#server.queues.revision }
  }

  read({ entry, claim, seen }: EntryQuery, isBrief: boolean): Present | Absent | Waits {
    const { lock, key, id, number } = entry
    const found = this.#server.entryAt(lock, key)
    const isOwn = found?.number === number && found.id === id
    const moment = this.#server.queues.revision
    if (isOwn && isBrief && claim && found.version === seen) {
      const position = this.#positionOf(claim, entry)
      if (!this.#recipe.mayGo(claim, position)) return { state: 'waits', ...position, moment }
    }
    if (isOwn) {
      const { data, version } = found
      const position = claim ? this.#positionOf(claim, entry) : { before: [], weight: 0 }
      return { state: 'present', data, version, ...position, moment }
    }
    const stealReason = this.stealReasonOf({ lock, id })
    return { state: 'absent', ...(stealReason === undefined ? {} : { stealReason }) }
  }

  /** Returns the new version, or undefined when the entry has changed or has gone. */
  amend(
    { lock, key, id, number }: Entry,
    data: EntryData,
    version: bigint,
    sessionId: bigint | undefined,
  ): bigint | 'no-session' | undefined {
    const found = this.#server.entryAt(lock, key)
    if (found?.number !== number || found.version !== version) return undefined
    // An adopter may have been withdrawn meanwhile.
    if (sessionId !== undefined && this.#server.queues.of(lock).gone.has(id)) return undefined
    if (sessionId !== undefined && !this.#server.sessions.get(sessionId)) return 'no-session'
    const next = { id, data, version: this.#server.queues.nextRevision }
    this.#server.replace(found, sessionId === undefined ? next : { ...next, sessionId })
    return next.version
  }

  /**
   * Takes out the entry of this claim, in any version. False when it has none there.
   * @param leavesWord refuses the claim from now on
   */
  leave({ lock, key, id, number }: Entry, leavesWord: boolean): boolean {
    const found = this.#server.entryAt(lock, key)
    if (found?.number !== number || found.id !== id) return false
    this.#server.remove(found, leavesWord ? {} : undefined)
    return true
  }

  /** Refuses a claim from now on. Returns what it or an earlier request has taken out. */
  block({ lock, id }: ClaimRef): Gone['taken'] {
    const { entries, gone } = this.#server.queues.of(lock)
    const word = gone.get(id)
    const found = entries.find((entry) => entry.id === id)
    if (!found) {
      if (!word) this.#server.noteGone(lock, id, {})
      return word?.taken
    }
    const { detached } = found.data
    const taken = { detached }
    this.#server.remove(found, { taken })
    if (detached === true) this.#server.sessions.end(found.sessionId)
    return taken
  }

  /** Returns the reason that `evict` left. */
  stealReasonOf({ lock, id }: Pick<ClaimRef, 'lock' | 'id'>): string | undefined {
    return this.#server.queues.of(lock).gone.get(id)?.stealReason
  }

  /**
   * Removes an entry of any claim, and leaves the reason. False when it was gone.
   * @param isOnly whether it stays as the entry of another claim
   */
  evict({ lock, key, id, number }: Entry, stealReason: string, isOnly: boolean): boolean {
    const found = this.#server.entryAt(lock, key)
    if (found?.number === number && (!isOnly || found.id === id)) {
      this.#server.remove(found, { stealReason })
      return true
    }
    // An earlier try of this request, whose answer was lost, may have stolen it.
    return this.stealReasonOf({ lock, id }) !== undefined
  }

  /** The names of all locks with a prefix. */
  namesWith(prefix: string): readonly string[] {
    return this.#server.queues.locks.filter((lock) => lock.startsWith(prefix))
  }

  readQueues(locks: readonly string[]): ListedQueue[] {
    const { queues, sessions } = this.#server
    return locks
      .map((lock) => ({
        lock,
        entries: queues.of(lock).entries.map(({ id, key, number, data, version, sessionId }) => ({
          entry: { lock, id, key, number },
          data,
          version,
          sessionId,
          sessionLeftMs: sessions.leftMs(sessionId),
        })),
      }))
      .filter(({ entries }) => entries.length > 0)
  }

  /** An earlier request made the entry. It keeps its place, on a session that lives for certain. */
  #reenter({ claim, data, holderId, waiterId }: Planned, own: StoredEntry): EnterAnswer {
    const onWaiterSession = waiterId !== undefined && own.sessionId === waiterId
    const sessionId = onWaiterSession ? waiterId : holderId
    if (!this.#server.sessions.get(sessionId)) return { outcome: 'no-session' }
    const version = this.#server.queues.nextRevision
    const entry = this.#server.replace(own, { data, sessionId, version })
    const position = this.#positionOf(claim, own)
    return { outcome: 'made', entry, onWaiterSession, ...position, moment: version }
  }

  #positionOf(claim: Weighed, { lock, key }: Entry): Omit<QueuePosition, 'moment'> {
    const { entries } = this.#server.queues.of(lock)
    const at = entries.findIndex((entry) => entry.key === key)
    return this.#before(claim, entries.slice(0, at))
  }

  /**
   * Reads as little as decides. For a writer and a mutex that is the last entry, for a reader the
   * last writer. For permits it is the oldest entries and the last one.
   */
  #before(claim: Weighed, entries: readonly StoredEntry[]): Omit<QueuePosition, 'moment'> {
    const rivals = rivalsOf(claim, entries)
    const isAlone = claim.kind !== 'semaphore' || claim.weight >= claim.capacity
    const oldest = rivals.slice(0, claim.capacity + 1)
    const last = rivals.slice(-1)
    const read = isAlone || oldest.includes(last[0] as StoredEntry) ? oldest : [...oldest, ...last]
    const shown = (isAlone ? last : read).map(({ key, data }) => ({ key, weight: data.weight }))
    return this.#recipe.positionOf(claim, shown)
  }
}

type Weighed = Pick<Claim, 'capacity' | 'weight' | 'kind'>

/** The entries that may keep a claim from going: writers alone for a reader. */
function rivalsOf(claim: Weighed, entries: readonly StoredEntry[]): readonly StoredEntry[] {
  const isReader = claim.kind !== 'semaphore' && claim.weight < claim.capacity
  return isReader ? entries.filter(({ shape }) => shape === 'w') : entries
}
