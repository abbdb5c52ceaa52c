/** The queue recipe's port to etcd: every step is one transaction. */
import { StoreUnavailableError } from '../../errors.js'
import type { Claim, ClaimRef, InspectQuery } from '../../store/contract.js'
import type { EntryData } from '../coordination/entry.js'
import type {
  EnterResult,
  EnterSessions,
  Entry,
  Exactness,
  EntryReading,
  EntryQuery,
  ListedEntry,
  ServiceWatch,
  QueuesPage,
  CoordinationService,
  Waits,
  Watched,
} from '../coordination/service.js'
import { Batches } from './batches.js'
import type { Connection } from './connection.js'
import { enter } from './enter-queue.js'
import { asLockError, isRefusal } from './failures.js'
import { listQueues } from './list-queues.js'
import { goneKey, queueOf } from './keys.js'
import { grantLease, TombstoneLeases, type EtcdSession } from './leases.js'
import { op, txn, when, type Txn, type TxnAnswer } from './messages.js'
import { QueueReads } from './queue-reads.js'
import { QuorumReads } from './quorum-reads.js'
import { EntryKeys } from './entry-keys.js'
import { OPERATIONS_A_READ, readingFrom, readOperations } from './entry-reads.js'
import { decodeGone, decodeValue, encodeGone, encodeValue, type Gone } from './values.js'
import { Watches } from './watches.js'

/** etcd takes 128 operations in a transaction by default. */
const LOOKS_AT_ONCE = Math.floor(128 / OPERATIONS_A_READ)
/**
 * How long the word of a thief stays for its victim, and that of a claim that is gone for its own
 * late request, in milliseconds.
 */
const WORD_MS = 60_000

/** An entry may change while it is being removed: each change is one of a few clients' verbs. */
const TRIES = 10

/** More entries of this client than that in one queue enter without reading it. */
const CROWD = 40

/** An entry as it was seen last. */
type Seen = Pick<ListedEntry, 'entry' | 'version'>

export class EtcdService implements CoordinationService<EtcdSession> {
  readonly graceMs = 0
  readonly adopts = true
  readonly keepsOrder = false
  readonly #connection: Connection
  readonly #batches: Batches
  readonly #entryKeys = new EntryKeys()
  /**
   * Claims whose entry a lost request may make once more, by the key of the word that they are
   * gone.
   */
  readonly #doubted = new Set<string>()
  readonly #reads: QuorumReads
  readonly #queueReads: QueueReads
  readonly #watches: Watches
  readonly #tombstoneLeases: TombstoneLeases

  constructor(connection: Connection) {
    this.#connection = connection
    this.#batches = new Batches(connection)
    this.#watches = new Watches(connection)
    this.#reads = new QuorumReads(connection)
    this.#queueReads = new QueueReads(this.#reads)
    this.#tombstoneLeases = new TombstoneLeases(this.#reads)
  }

  openSession(timeoutMs: number, exactness: Exactness): Promise<EtcdSession> {
    return grantLease(this.#reads, timeoutMs / 1000, exactness)
  }

  async enter(
    claim: Claim,
    data: EntryData,
    sessions: EnterSessions<EtcdSession>,
  ): Promise<EnterResult> {
    const unclear = this.#connection.unclear
    const run = (request: Txn): Promise<TxnAnswer> => this.#change(claim.lock, request, true)
    let result: EnterResult
    try {
      const isCrowded = this.#entryKeys.used(claim) >= CROWD
      result = await enter(
        run,
        claim,
        this.#entryKeys,
        data,
        sessions,
        isCrowded ? this.#queueReads : undefined,
      )
    } catch (error) {
      const inDoubt = this.#connection.unclear !== unclear || this.#doubted.has(goneKey(claim))
      if (inDoubt || !isRefusal(error)) throw error
      result = { outcome: 'refused', error: asLockError(error) }
    } finally {
      if (this.#connection.unclear !== unclear) {
        this.#entryKeys.abandon()
        this.#doubted.add(goneKey(claim))
      }
    }
    if (result.outcome !== 'entered') await this.#leaveOut(claim, result)
    return result
  }

  async readEntries(entries: readonly EntryQuery[]): Promise<readonly (EntryReading | Waits)[]> {
    const waiting = await this.#queueReads.stillWaiting(entries)
    const others = [...entries.keys()].filter((index) => !waiting.has(index))
    const readings: Promise<[number, EntryReading][]>[] = []
    for (let from = 0; from < others.length; from += LOOKS_AT_ONCE) {
      const some = others.slice(from, from + LOOKS_AT_ONCE)
      const at = some.map((index) => entries[index] as EntryQuery)
      readings.push(
        this.#readNow(at).then((found) =>
          found.map((reading, place) => [some[place] as number, reading]),
        ),
      )
    }
    const found = new Map<number, EntryReading | Waits>([
      ...waiting,
      ...(await Promise.all(readings)).flat(),
    ])
    return [...entries.keys()].map((index) => found.get(index) ?? { state: 'absent' })
  }

  async amend(
    entry: Entry,
    data: EntryData,
    version: bigint,
    session?: EtcdSession,
  ): Promise<bigint | undefined> {
    const value = encodeValue(data, entry.id)
    const { succeeded, revision } = await this.#change(
      entry.lock,
      {
        when: [
          when.created(entry.key, entry.number),
          when.unchanged(entry.key, version),
          // An adopter may have been withdrawn meanwhile.
          ...(session ? [when.absent(goneKey(entry))] : []),
        ],
        then: [session ? op.put(entry.key, value, session.lease) : op.rewrite(entry.key, value)],
      },
      true,
    )
    return succeeded ? revision : undefined
  }

  async leave(entry: Entry, version: bigint): Promise<boolean> {
    const then = [op.remove(entry.key)]
    const word = goneKey(entry)
    if (this.#doubted.has(word)) {
      // A try to make it may still be in flight, and must not make it again.
      const lease = await this.#tombstoneLeases.lease(WORD_MS)
      then.push(op.put(word, encodeGone({}), lease))
    }
    return this.#leave({ entry, version }, then)
  }

  async #leave(seen: Seen, then: readonly Buffer[]): Promise<boolean> {
    // Not repeated here: a second one would find nothing, and leave open which one removed it.
    const left = await this.#takeOut(seen, false, ({ id }) =>
      id === seen.entry.id ? then : undefined,
    )
    this.#forget(seen.entry)
    return left
  }

  async block(claim: ClaimRef): Promise<Pick<EntryData, 'detached'> | undefined> {
    const lease = await this.#tombstoneLeases.lease(claim.ttlMs)
    const { key, end } = queueOf(claim.lock)
    const word = goneKey(claim)
    const then = [op.range(key, { end }), op.put(word, encodeGone({}), lease)]
    const otherwise = [op.range(key, { end })]
    const { succeeded, answers } = await this.#change(
      claim.lock,
      { when: [when.absent(word)], then, otherwise },
      true,
    )
    // From this moment on no entry of this claim can be made, so what is there now is all there is.
    this.#doubted.delete(word)
    for (const kv of answers[0]?.found ?? []) {
      // Those of others are not read: they may be of a format that is not known here.
      const decoded = kv.value.includes(claim.id) ? decodeValue(kv.value) : undefined
      if (decoded?.id !== claim.id) continue
      const { key: place, createRevision: number, modRevision: version } = kv
      const entry = { ...claim, key: place, number }
      const { detached } = decoded.data
      const noted = op.put(word, encodeGone({ taken: { detached } }), lease)
      const left = await this.#leave({ entry, version }, [op.remove(place), noted])
      // Another request of the same withdrawal may have been faster.
      return left ? { detached } : this.#takenBefore(claim, lease)
    }
    this.#entryKeys.release(claim)
    return succeeded ? undefined : this.#takenBefore(claim, lease)
  }

  /**
   * What an earlier request of the same withdrawal has taken out, whose answer may have been lost.
   * The word of it stays for as long as the lease lasts.
   */
  async #takenBefore(claim: ClaimRef, lease: bigint): Promise<Gone['taken']> {
    const word = goneKey(claim)
    const { answers } = await this.#change(claim.lock, { when: [], then: [op.range(word)] }, true)
    const known = answers[0]?.found[0]
    if (!known) return undefined
    const gone = decodeGone(known.value)
    const then = [op.put(word, encodeGone(gone), lease)]
    await this.#change(claim.lock, { when: [when.unchanged(word, known.modRevision)], then }, true)
    return gone.taken
  }

  async evict(listed: ListedEntry, reason: string | undefined): Promise<boolean> {
    const lease = await this.#tombstoneLeases.lease(WORD_MS)
    return this.#takeOut(listed, true, (entry) => [
      op.remove(entry.key),
      op.put(goneKey(entry), encodeGone({ stealReason: reason ?? '' }), lease),
    ])
  }

  watch({ predecessors, moment, onlyGone }: Watched, changed: () => void): ServiceWatch {
    const removers = predecessors.map(({ key }) =>
      this.#watches.add(key, moment, onlyGone, changed),
    )
    return {
      close: () => {
        for (const remove of removers) remove()
      },
    }
  }

  list(query: InspectQuery): Promise<QueuesPage> {
    return listQueues(this.#connection, query)
  }

  async close(): Promise<void> {
    this.#watches.close()
    this.#connection.close()
  }

  async #readNow(entries: readonly EntryQuery[]): Promise<EntryReading[]> {
    // Not with those that change something: etcd need not agree on what is only read.
    const operations = entries.map((at) => readOperations(at))
    const { answers, revision } = await this.#reads.read(txn({ when: [], then: operations.flat() }))
    let from = 0
    return entries.map((at, index) => {
      const to = from + (operations[index]?.length ?? 0)
      const reading = readingFrom(at, answers.slice(from, to), revision)
      from = to
      if (reading.state === 'absent') this.#forget(at.entry)
      return reading
    })
  }

  /**
   * What was not entered must not be made later on, by a request that was not answered: no
   * withdrawal would remove it.
   */
  async #leaveOut(claim: Claim, { outcome }: EnterResult): Promise<void> {
    const inDoubt = this.#doubted.has(goneKey(claim))
    // Without a session it comes again, and finds under the same key what was made.
    if (inDoubt && outcome === 'no-session') return
    if (inDoubt && outcome !== 'withdrawn') await this.block(claim)
    else this.#forget(claim)
  }

  /**
   * Removes an entry as it was seen. Where it has changed since, another claim may have adopted it,
   * so it is looked at again: `removal` says what removes it, or that it stays.
   */
  async #takeOut(
    { entry, version }: Seen,
    repeatable: boolean,
    removal: (entry: Entry) => readonly Buffer[] | undefined,
  ): Promise<boolean> {
    const { lock, key, number } = entry
    let seen = { id: entry.id, version }
    for (let tries = 0; tries < TRIES; tries += 1) {
      const then = removal({ ...entry, id: seen.id })
      if (!then) return false
      const { succeeded, answers } = await this.#change(
        lock,
        { when: [when.unchanged(key, seen.version)], then, otherwise: [op.range(key)] },
        repeatable,
      )
      if (succeeded) return true
      const now = answers[0]?.found[0]
      const id = now?.createRevision === number ? decodeValue(now.value)?.id : undefined
      if (!now || id === undefined) return false
      seen = { id, version: now.modRevision }
    }
    throw new StoreUnavailableError(
      `The entry of "${lock}" in etcd changed ${TRIES} times while it was being removed. Try again.`,
      { lock, store: 'etcd' },
    )
  }

  /** Its entry is gone for certain, and none will be made. */
  #forget(claim: Pick<ClaimRef, 'lock' | 'id'>): void {
    this.#doubted.delete(goneKey(claim))
    this.#entryKeys.release(claim)
  }

  #change(lock: string, request: Txn, repeatable: boolean): Promise<TxnAnswer> {
    return this.#batches.run(lock, txn(request), repeatable)
  }
}
