/** The queue recipe's port to etcd: every step is one transaction. */
import type { Claim, ClaimRef, InspectQuery } from '../../store/contract.js'
import type { EntryData } from '../coordination/entry.js'
import type {
  EnterResult,
  EnterSessions,
  Entry,
  Exactness,
  EntryReading,
  EntryQuery,
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
import { beforeOperations, MOST_BEFORE, positionFrom } from './predecessor-reads.js'
import { decodeValue, encodeValue } from './values.js'
import { Watches } from './watches.js'

/**
 * etcd takes 128 operations in a transaction by default, and a read is two beside what stands
 * before the entry.
 */
const LOOKS_AT_ONCE = Math.floor(128 / (2 + MOST_BEFORE))
/**
 * How long the word of a thief stays for its victim, and that of a claim that is gone for its own
 * late request, in milliseconds.
 */
const WORD_MS = 60_000

/** More entries of this client than that in one queue enter without reading it. */
const CROWD = 40

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
    const key = this.#entryKeys.take(claim)
    const unclear = this.#connection.unclear
    const run = (request: Txn): Promise<TxnAnswer> => this.#change(claim.lock, request, true)
    let result: EnterResult
    try {
      const isCrowded = this.#entryKeys.used(claim) > CROWD
      result = await enter(
        run,
        claim,
        key,
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

  async leave(entry: Entry): Promise<boolean> {
    const then = [op.remove(entry.key)]
    const word = goneKey(entry)
    if (this.#doubted.has(word)) {
      // A try to make it may still be in flight, and must not make it again.
      const lease = await this.#tombstoneLeases.lease(WORD_MS)
      then.push(op.put(word, encodeGone(undefined), lease))
    }
    // Not repeated here: a second one would find nothing, and leave open which one removed it.
    const { succeeded } = await this.#change(
      entry.lock,
      { when: [when.created(entry.key, entry.number)], then },
      false,
    )
    this.#forget(entry)
    return succeeded
  }

  async block(claim: ClaimRef): Promise<EntryData | undefined> {
    const lease = await this.#tombstoneLeases.lease(claim.ttlMs)
    const { key, end } = queueOf(claim.lock)
    const { answers } = await this.#change(
      claim.lock,
      {
        when: [],
        then: [op.put(goneKey(claim), encodeGone(undefined), lease), op.range(key, { end })],
      },
      true,
    )
    // From this moment on no entry of this claim can be made, so what is there now is all there is.
    this.#doubted.delete(goneKey(claim))
    for (const { key: place, value, createRevision: number } of answers[1]?.found ?? []) {
      // Those of others are not read: they may be of a format that is not known here.
      const decoded = value.includes(claim.id) ? decodeValue(value) : undefined
      if (decoded?.id !== claim.id) continue
      await this.leave({ ...claim, key: place, number })
      return decoded.data
    }
    this.#entryKeys.release(claim)
    return undefined
  }

  async evict(entry: Entry, _data: EntryData, reason: string | undefined): Promise<boolean> {
    const lease = await this.#tombstoneLeases.lease(WORD_MS)
    const { succeeded } = await this.#change(
      entry.lock,
      {
        when: [when.created(entry.key, entry.number)],
        then: [op.remove(entry.key), op.put(goneKey(entry), encodeGone(reason ?? ''), lease)],
      },
      true,
    )
    return succeeded
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

  /** Its entry is gone for certain, and none will be made. */
  #forget(claim: Pick<ClaimRef, 'lock' | 'id'>): void {
    this.#doubted.delete(goneKey(claim))
    this.#entryKeys.release(claim)
  }

  #change(lock: string, request: Txn, repeatable: boolean): Promise<TxnAnswer> {
    return this.#batches.run(lock, txn(request), repeatable)
  }
}

/** The entry itself, the word that it was stolen, and what stands before it. */
function readOperations({ entry, claim }: EntryQuery): Buffer[] {
  const before = claim ? beforeOperations(entry.lock, claim, entry.number) : []
  return [op.range(entry.key), op.range(goneKey(entry)), ...before]
}

function readingFrom(
  { entry, claim }: EntryQuery,
  answers: TxnAnswer['answers'],
  moment: bigint,
): EntryReading {
  const [owns, words, ...before] = answers.map(({ found }) => found)
  const own = owns?.[0]
  const gone = words?.[0]
  const data = own?.createRevision === entry.number ? decodeValue(own.value)?.data : undefined
  if (own && data) {
    const position = claim ? positionFrom(claim, before) : { before: [], weight: 0 }
    return { state: 'present', data, version: own.modRevision, ...position, moment }
  }
  const stealReason = gone && decodeGone(gone.value.toString())
  return { state: 'absent', ...(stealReason === undefined ? {} : { stealReason }) }
}

/**
 * What stands under a claim that is no more: the reason of a thief, or nothing when it was
 * withdrawn.
 */
function encodeGone(stealReason: string | undefined): string {
  return stealReason === undefined ? 'withdrawn' : `stolen:${stealReason}`
}

function decodeGone(text: string): string | undefined {
  return text.startsWith('stolen:') ? text.slice('stolen:'.length) : undefined
}
