/** The queue recipe's port to etcd: every step is one transaction. */
import type { Claim, ClaimRef, ListQuery, NamesPage } from '../../store/contract.js'
import { BusyLocks } from '../coordination/queue/busy-locks.js'
import type { EntryData } from '../coordination/wire.js'
import type {
  EnterResult,
  EnterSessions,
  Entry,
  Exactness,
  EntryReading,
  EntryQuery,
  ListedEntry,
  ListedQueue,
  ServiceWatch,
  CoordinationService,
  Waits,
  Watched,
} from '../coordination/connection/service.js'
import { Batches } from './connection/batches.js'
import type { Connection } from './connection/connection.js'
import { enter } from './queue/enter-queue.js'
import { asLockError, isRefusal } from './errors.js'
import { listNames, readQueues } from './queue/list-queues.js'
import { EntryRemovals } from './queue/entry-removals.js'
import { grantLease, type EtcdSession } from './session.js'
import { op, txn, when, type Txn, type TxnAnswer } from './wire/messages.js'
import { QueueSnapshots } from './queue/queue-snapshots.js'
import { QuorumReads } from './connection/quorum-reads.js'
import { EntryKeys } from './queue/entry-keys.js'
import { OPERATIONS_A_READ, readingFrom, readOperations } from './queue/read-entry.js'
import { encodeValue } from './wire/values.js'
import { Watches } from './wake-ups.js'

/** etcd takes 128 operations in a transaction by default. */
const LOOKS_AT_ONCE = Math.floor(128 / OPERATIONS_A_READ)
/** More entries of this client than that in one queue enter without reading it. */
const CROWD = 40

export class EtcdService implements CoordinationService<EtcdSession> {
  readonly graceMs = 0
  readonly adopts = true
  readonly keepsOrder = false
  readonly #connection: Connection
  readonly #batches: Batches
  readonly #entryKeys: EntryKeys
  /** Semaphores in which the last claim did not fit. */
  readonly #fullLocks = new BusyLocks()
  readonly #reads: QuorumReads
  readonly #snapshots: QueueSnapshots
  readonly #watches: Watches
  readonly #removals: EntryRemovals

  constructor(connection: Connection) {
    this.#connection = connection
    this.#batches = new Batches(connection)
    this.#entryKeys = new EntryKeys(connection.keys)
    this.#watches = new Watches(connection)
    this.#reads = new QuorumReads(connection)
    this.#snapshots = new QueueSnapshots(this.#reads)
    this.#removals = new EntryRemovals(this.#batches, this.#reads, this.#entryKeys)
  }

  get inDoubt(): number {
    return this.#connection.inDoubt
  }

  openSession(timeoutMs: number, exactness: Exactness): Promise<EtcdSession> {
    return grantLease(this.#reads, timeoutMs / 1000, exactness)
  }

  async enter(
    claim: Claim,
    data: EntryData,
    sessions: EnterSessions<EtcdSession>,
  ): Promise<EnterResult> {
    const before = this.#connection.inDoubt
    const run = (request: Txn): Promise<TxnAnswer> => this.#change(claim.lock, request, true)
    let result: EnterResult
    try {
      const isCrowded = this.#entryKeys.used(claim) >= CROWD
      result = await enter(run, claim, data, sessions, {
        keys: this.#connection.keys,
        entryKeys: this.#entryKeys,
        crowd: isCrowded ? this.#snapshots : undefined,
        isFull: this.#fullLocks.has(claim.lock),
      })
    } catch (error) {
      const inDoubt = this.#connection.inDoubt !== before || this.#removals.isInDoubt(claim)
      if (inDoubt || !isRefusal(error)) throw error
      result = { outcome: 'refused', error: asLockError(error) }
    } finally {
      if (this.#connection.inDoubt !== before) {
        this.#entryKeys.abandon()
        this.#removals.noteInDoubt(claim)
      }
    }
    const isFull = result.outcome === 'entered' ? result.mustLeave === true : true
    if (claim.kind === 'semaphore') this.#fullLocks.note(claim.lock, isFull)
    if (result.outcome !== 'entered') await this.#leaveOut(claim, result)
    return result
  }

  async readEntries(entries: readonly EntryQuery[]): Promise<readonly (EntryReading | Waits)[]> {
    const waiting = await this.#snapshots.stillWaiting(entries)
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
          ...(session ? [when.absent(this.#connection.keys.goneKey(entry))] : []),
        ],
        then: [session ? op.put(entry.key, value, session.lease) : op.rewrite(entry.key, value)],
      },
      true,
    )
    return succeeded ? revision : undefined
  }

  leave(entry: Entry, version: bigint): Promise<boolean> {
    return this.#removals.leave(entry, version)
  }

  block(claim: ClaimRef): Promise<Pick<EntryData, 'detached'> | undefined> {
    return this.#removals.block(claim)
  }

  evict(listed: ListedEntry, reason: string | undefined, isOnly: boolean): Promise<boolean> {
    return this.#removals.evict(listed, reason, isOnly)
  }

  stealReasonOf(claim: Pick<ClaimRef, 'lock' | 'id'>): Promise<string | undefined> {
    return this.#removals.stealReasonOf(claim)
  }

  async noteAdopted(claim: ClaimRef): Promise<void> {
    // A try to make its entry may still be in flight, and the key is free when the adopter leaves.
    if (this.#removals.isInDoubt(claim)) await this.#removals.block(claim)
    this.#removals.forget(claim)
  }

  async endDetached(listed: ListedEntry, { lease }: EtcdSession): Promise<void> {
    if (listed.sessionId !== lease) await this.#removals.endDetached(listed)
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

  listNames(query: ListQuery): Promise<NamesPage> {
    return listNames(this.#connection, query)
  }

  readQueues(
    locks: readonly string[],
    waitersUpTo?: readonly string[],
  ): Promise<readonly ListedQueue[]> {
    return readQueues(this.#connection, locks, waitersUpTo)
  }

  async close(): Promise<void> {
    this.#watches.close()
    this.#connection.close()
  }

  async #readNow(entries: readonly EntryQuery[]): Promise<EntryReading[]> {
    // Not with those that change something: etcd need not agree on what is only read.
    const operations = entries.map((at) => readOperations(this.#connection.keys, at))
    const { answers, revision } = await this.#reads.read(txn({ when: [], then: operations.flat() }))
    let from = 0
    return entries.map((at, index) => {
      const to = from + (operations[index]?.length ?? 0)
      const reading = readingFrom(at, answers.slice(from, to), revision)
      from = to
      if (reading.state === 'absent') this.#removals.forget(at.entry)
      return reading
    })
  }

  /**
   * What was not entered must not be made later on, by a request that was not answered: no
   * withdrawal would remove it.
   */
  async #leaveOut(claim: Claim, { outcome }: EnterResult): Promise<void> {
    const inDoubt = this.#removals.isInDoubt(claim)
    // Without a session it comes again, and finds under the same key what was made.
    if (inDoubt && outcome === 'no-session') return
    if (inDoubt && outcome !== 'withdrawn') await this.#removals.block(claim)
    else this.#removals.forget(claim)
  }

  #change(lock: string, request: Txn, repeatable: boolean): Promise<TxnAnswer> {
    return this.#batches.run(lock, txn(request), repeatable)
  }
}
