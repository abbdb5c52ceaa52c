/** All locks of a store that the console knows, each as of its own moment. */
import type { LockInfo } from '../../store/contract.js'
import { KnownLock } from './known-lock.js'

/** Takes the last and the present state of a lock. Undefined: not known, or free. */
export type ChangeListener = (
  lock: string,
  before: KnownLock | undefined,
  now: KnownLock | undefined,
) => void

export class KnownLocks {
  readonly #locks = new Map<string, KnownLock>()
  readonly #hot = new Set<string>()
  readonly #elections = new Set<string>()
  readonly #onChange: ChangeListener
  /** In order. The names of removed locks stand there until the next call of `sorted`. */
  #names: string[] = []
  #hasRemoved = false
  /** Grows with each change: what was made of one version stays right while it stands. */
  version = 0

  constructor(onChange: ChangeListener) {
    this.#onChange = onChange
  }

  get size(): number {
    return this.#locks.size
  }

  get(lock: string): KnownLock | undefined {
    return this.#locks.get(lock)
  }

  values(): IterableIterator<KnownLock> {
    return this.#locks.values()
  }

  /** The locks of which each look asks. */
  hot(): KnownLock[] {
    return this.#named(this.#hot)
  }

  elections(): readonly KnownLock[] {
    return this.#named(this.#elections)
  }

  /** Notes what the store has answered about these names: the others of them are free. */
  note(names: readonly string[], infos: readonly LockInfo[], nowMs: number): void {
    const missing = new Set(names)
    for (const info of infos) {
      missing.delete(info.lock)
      this.#set(new KnownLock(info, nowMs))
    }
    for (const name of missing) this.#delete(name)
    this.version += 1
  }

  /** Names of the locks that were not seen since: a walk over all names has not met them. */
  unseenSince(startedMs: number): readonly string[] {
    const names: string[] = []
    for (const { lock, seenMs } of this.#locks.values()) if (seenMs < startedMs) names.push(lock)
    return names
  }

  /** Removes those of these locks that were not seen since. */
  forget(names: readonly string[], startedMs: number): void {
    for (const name of names) {
      const known = this.#locks.get(name)
      if (known && known.seenMs < startedMs) this.#delete(name)
    }
    this.version += 1
  }

  /** All known locks, by name. */
  sorted(): KnownLock[] {
    if (this.#hasRemoved) this.#names = this.#names.filter((name) => this.#locks.has(name))
    this.#hasRemoved = false
    return this.#named(this.#names)
  }

  #named(names: Iterable<string>): KnownLock[] {
    const named: KnownLock[] = []
    for (const name of names) {
      const known = this.#locks.get(name)
      if (known) named.push(known)
    }
    return named
  }

  #set(known: KnownLock): void {
    const { lock } = known
    const before = this.#locks.get(lock)
    this.#locks.set(lock, known)
    keep(this.#hot, lock, known.isHot)
    keep(this.#elections, lock, known.isElection)
    if (!before) this.#insert(lock)
    this.#onChange(lock, before, known)
  }

  #delete(lock: string): void {
    const before = this.#locks.get(lock)
    if (!before) return
    this.#locks.delete(lock)
    this.#hot.delete(lock)
    this.#elections.delete(lock)
    this.#hasRemoved = true
    this.#onChange(lock, before, undefined)
  }

  /** A sort of all names at once would block the event loop. */
  #insert(lock: string): void {
    const place = placeOf(lock, this.#names)
    // The name of a removed lock may still be there.
    if (this.#names[place] !== lock) this.#names.splice(place, 0, lock)
  }
}

function keep(names: Set<string>, lock: string, isKept: boolean): void {
  if (isKept) names.add(lock)
  else names.delete(lock)
}

/** Returns how many of these sorted names are smaller. */
function placeOf(name: string, names: readonly string[]): number {
  let [from, to] = [0, names.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((names[middle] ?? '') < name) from = middle + 1
    else to = middle
  }
  return from
}
