/**
 * The queues of a coordination service: entries in the order in which they were made.
 *
 * Each change of a lock makes a new list, so that a server that is behind can show an older one.
 */
import type { EntryData } from 'holdfast/internal'
import type { Claim } from 'holdfast/store'

export interface StoredEntry {
  readonly lock: string
  readonly id: string
  readonly key: string
  /** The revision that made it. */
  readonly number: bigint
  readonly version: bigint
  readonly data: EntryData
  readonly sessionId: bigint
  /** Of the claim that made it: which entries can be weighed against it. */
  readonly shape: string
}

/** Why a claim is no more. */
export interface Gone {
  readonly stealReason?: string
  /** Its withdrawal has taken its entry out. */
  readonly taken?: Pick<EntryData, 'detached'>
  /** The session with which this word goes, if it goes with one. */
  readonly sessionId?: bigint
}

/** A lock at a moment. */
export interface Queue {
  readonly atMs: number
  readonly entries: readonly StoredEntry[]
  /** Claims that were withdrawn or stolen, by their ids. */
  readonly gone: ReadonlyMap<string, Gone>
}

/** What became of one key. */
export interface KeyChange {
  readonly key: string
  readonly isGone: boolean
}

/** No server is further behind, in milliseconds. */
const KEPT_MS = 5000
const EMPTY: Queue = { atMs: -Infinity, entries: [], gone: new Map() }

export class Queues {
  revision = 0n
  readonly #queues = new Map<string, Queue[]>()

  /** Returns a lock as it was at a moment, or as it is now. */
  of(lock: string, atMs = Infinity): Queue {
    return this.#queues.get(lock)?.findLast((queue) => queue.atMs <= atMs) ?? EMPTY
  }

  get locks(): string[] {
    return [...this.#queues.keys()].sort()
  }

  get nextRevision(): bigint {
    return this.revision + 1n
  }

  /** Makes one change of a lock. Returns what became of its keys. */
  change(lock: string, nowMs: number, next: Partial<Omit<Queue, 'atMs'>>): KeyChange[] {
    this.revision += 1n
    const before = this.of(lock)
    const queue = { ...before, ...next, atMs: nowMs }
    const all = this.#queues.get(lock) ?? [EMPTY]
    // What the server shows that is furthest behind may be much older, if nothing changed since.
    const oldest = all.findLastIndex(({ atMs }) => atMs <= nowMs - KEPT_MS)
    this.#queues.set(lock, [...all.slice(oldest), queue])
    return changesBetween(before.entries, queue.entries)
  }

  /** Forgets all. A real service counts from 1 again; then tokens would say nothing here. */
  clear(): void {
    this.#queues.clear()
  }
}

/** Returns the keys that changed or went between two lists of the entries of a lock. */
export function changesBetween(
  before: readonly StoredEntry[],
  after: readonly StoredEntry[],
): KeyChange[] {
  if (before === after) return []
  const byKey = new Map(after.map((entry) => [entry.key, entry]))
  const old = new Map(before.map((entry) => [entry.key, entry]))
  const changes = before.flatMap((entry): KeyChange[] => {
    const now = byKey.get(entry.key)
    if (now === entry) return []
    // A key that was removed and made again in between has gone.
    return [{ key: entry.key, isGone: now?.number !== entry.number }]
  })
  const made = after.filter(({ key }) => !old.has(key))
  return [...changes, ...made.map(({ key }) => ({ key, isGone: false }))]
}

/**
 * `w` for a claim that excludes all others, `r` for readers, `s4` for the permits of a semaphore of
 * four.
 */
export function shapeOf({ kind, capacity, weight }: Claim): string {
  if (kind === 'semaphore') return `s${capacity}`
  return weight >= capacity ? 'w' : 'r'
}

/** The first entry that cannot be weighed against a claim. */
export function strangerIn(entries: readonly StoredEntry[], claim: Claim): StoredEntry | undefined {
  const own = shapeOf(claim)
  return entries.find(({ shape }) => {
    return shape !== own && (shape.startsWith('s') || own.startsWith('s'))
  })
}

/** The entries that hold: the beginning of the queue, as much of it as fits. */
export function holdersOf(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  let weight = 0
  const first = entries.findIndex(({ data }) => (weight += data.weight) > data.capacity)
  return first < 0 ? entries : entries.slice(0, first)
}
