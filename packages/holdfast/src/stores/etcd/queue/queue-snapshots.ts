/**
 * Looks of many claims of this client that wait for one lock: the queue is read once for all of
 * them, without values.
 *
 * Without the values the weights are unknown. A weight is read where it decides: among the oldest
 * entries of a semaphore, and of the last writer before a reader. It is remembered for as long as
 * the entry does not change.
 */
import { OldestKeys } from '../../../collections/oldest-keys.js'
import { invariant } from '../../../invariant.js'
import type { Claim } from '../../../store/contract.js'
import type {
  Entry,
  EntryQuery,
  QueuePosition,
  Waits,
} from '../../coordination/connection/service.js'
import { QueueView, type QueueMember } from '../../coordination/queue/queue-view.js'
import { mayGo } from '../../coordination/queue/queue-rule.js'
import { SharedReads } from '../../coordination/queue/shared-reads.js'
import { capacityOf, isWriterKey } from '../keys.js'
import { op, txn, type KeyValue } from '../wire/messages.js'
import type { QuorumReads } from '../connection/quorum-reads.js'
import { decodeValue } from '../wire/values.js'

/** Fewer waiters than that look one by one. */
const FEWEST = 8
/** A queue that is longer than this times the number of waiters is not read as a whole. */
const LONGEST_PER_WAITER = 8
/** How many locks are remembered. */
const LOCKS_KEPT = 1000
/** etcd takes 128 operations in a transaction by default. */
const READ_AT_ONCE = 100

type Weighed = Pick<Claim, 'capacity' | 'weight' | 'kind'>
type Waiter = EntryQuery & { readonly seen: bigint; readonly claim: Weighed }

/** A queue as it was at a moment. */
interface Queue {
  readonly view: QueueView
  readonly entries: ReadonlyMap<string, KeyValue>
  readonly moment: bigint
}

export class QueueSnapshots {
  readonly #reads: QuorumReads
  /**
   * The weights that were read, by lock, by key and revision. The lock that was read last stands at
   * the end.
   */
  readonly #weights = new Map<string, Map<string, number>>()
  readonly #oldest = new OldestKeys(this.#weights)
  readonly #lengths = new Map<string, number>()
  readonly #queues: SharedReads<Queue>

  constructor(reads: QuorumReads) {
    this.#reads = reads
    this.#queues = new SharedReads((lock) => this.#read(lock))
  }

  /**
   * Finds the entries that still wait, by their place in `entries`. The others have to be looked at
   * one by one.
   */
  async stillWaiting(entries: readonly EntryQuery[]): Promise<Map<number, Waits>> {
    const byLock = new Map<string, [number, Waiter][]>()
    for (const [index, at] of entries.entries()) {
      if (!isWaiter(at)) continue
      const its = byLock.get(at.entry.lock)
      if (its) its.push([index, at])
      else byLock.set(at.entry.lock, [[index, at]])
    }
    const many = [...byLock].filter(([lock, its]) => this.#isWorth(lock, its.length))
    const found = await Promise.all(
      many.map(async ([lock, its]) => {
        const queue = await this.#queues.get(lock)
        return its.flatMap(([index, at]): [number, Waits][] => {
          const waits = waitsIn(queue, at)
          return waits ? [[index, waits]] : []
        })
      }),
    )
    return new Map(found.flat())
  }

  /** What stands before an entry that has just been made. Undefined when it has gone since. */
  async before(entry: Entry, claim: Weighed): Promise<QueuePosition | undefined> {
    const { view, entries, moment } = await this.#queues.get(entry.lock)
    if (entries.get(entry.key)?.createRevision !== entry.number) return undefined
    const position = view.before(entry.key, claim)
    return position && { ...position, moment }
  }

  #isWorth(lock: string, waiters: number): boolean {
    return waiters >= FEWEST && (this.#lengths.get(lock) ?? 0) <= waiters * LONGEST_PER_WAITER
  }

  async #read(lock: string): Promise<Queue> {
    const { key, end } = this.#reads.connection.keys.queueOf(lock)
    const body = txn({
      when: [],
      then: [op.range(key, { end, sort: 'oldest-first', keysOnly: true })],
    })
    const { answers, revision } = await this.#reads.read(body)
    const queue = answers[0]?.found ?? []
    invariant(isInOrder(queue), 'the entries of a queue are in the order of their making', lock)
    const weights = await this.#weigh(queue, this.#remember(lock, queue))
    const weightOf = (kv: KeyValue): number =>
      weights.get(weightKey(kv)) ?? (isWriterKey(kv.key) ? Infinity : 1)
    const members = queue.map((kv): QueueMember => ({
      key: kv.key,
      weight: weightOf(kv),
      isWriter: isWriterKey(kv.key),
    }))
    return {
      view: new QueueView(members),
      entries: new Map(queue.map((kv) => [kv.key, kv])),
      moment: revision,
    }
  }

  /** Reads the weights that decide and are not known. */
  async #weigh(
    queue: readonly KeyValue[],
    weights: Map<string, number>,
  ): Promise<Map<string, number>> {
    const keys = deciding(queue)
      .filter((kv) => !weights.has(weightKey(kv)))
      .map(({ key }) => key)
    for (let from = 0; from < keys.length; from += READ_AT_ONCE) {
      const then = keys.slice(from, from + READ_AT_ONCE).map((key) => op.range(key))
      const { answers } = await this.#reads.read(txn({ when: [], then }))
      for (const kv of answers.flatMap(({ found }) => found)) {
        weights.set(weightKey(kv), decodeValue(kv.value)?.data.weight ?? Infinity)
      }
    }
    return weights
  }

  /** Keeps the weights of the entries that are still there. */
  #remember(lock: string, queue: readonly KeyValue[]): Map<string, number> {
    const before = this.#weights.get(lock)
    const weights = new Map<string, number>()
    for (const key of queue.map(weightKey)) {
      const weight = before?.get(key)
      if (weight !== undefined) weights.set(key, weight)
    }
    this.#weights.delete(lock)
    this.#weights.set(lock, weights)
    this.#lengths.set(lock, queue.length)
    const oldest = this.#weights.size > LOCKS_KEPT ? this.#oldest.next() : undefined
    if (oldest !== undefined) {
      this.#weights.delete(oldest)
      this.#lengths.delete(oldest)
    }
    return weights
  }
}

function waitsIn(
  { view, entries, moment }: Queue,
  { entry, claim, seen }: Waiter,
): Waits | undefined {
  const kv = entries.get(entry.key)
  if (kv?.createRevision !== entry.number || kv.modRevision !== seen) return undefined
  const position = view.before(entry.key, claim)
  return position && !mayGo(claim, position) ? { state: 'waits', ...position, moment } : undefined
}

function isInOrder(queue: readonly KeyValue[]): boolean {
  return queue.every(
    ({ createRevision }, index) =>
      index === 0 || (queue[index - 1] as KeyValue).createRevision < createRevision,
  )
}

function isWaiter(at: EntryQuery): at is Waiter {
  return at.seen !== undefined && at.claim !== undefined
}

function weightKey({ key, modRevision }: KeyValue): string {
  return `${modRevision} ${key}`
}

/**
 * The entries whose weights decide: of a semaphore as many as exceed its capacity, and the writers
 * before readers.
 */
function deciding(queue: readonly KeyValue[]): readonly KeyValue[] {
  const [first] = queue
  const capacity = first && capacityOf(first.key)
  if (capacity !== undefined) return queue.slice(0, capacity + 1)
  return queue.filter(({ key }, number) => {
    const next = queue[number + 1]
    return isWriterKey(key) && next !== undefined && !isWriterKey(next.key)
  })
}
