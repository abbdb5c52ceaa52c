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
  /** Names in order. New ones stand behind the sorted ones until the next call of `sorted`. */
  #names: string[] = []
  #isSorted = true
  /** How many locks were removed since the names were sorted. */
  #removed = 0
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

  /** The locks of which each look asks, those that were seen the longest ago first. */
  hot(): KnownLock[] {
    return this.#named(this.#hot).sort((one, other) => one.seenMs - other.seenMs)
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

  /** Removes the locks that were not seen since: a walk over all names has not met them. */
  forgetBefore(startedMs: number): void {
    for (const { lock, seenMs } of this.#locks.values()) if (seenMs < startedMs) this.#delete(lock)
    this.version += 1
  }

  /** All known locks, by name. */
  sorted(): KnownLock[] {
    if (this.#removed > 0) this.#names = this.#names.filter((name) => this.#locks.has(name))
    this.#removed = 0
    // New names stand at the end, and the sort keeps the sorted run before them.
    if (!this.#isSorted) this.#names = [...new Set(this.#names.sort(byName))]
    this.#isSorted = true
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
    if (!before) {
      this.#names.push(lock)
      this.#isSorted = false
    }
    this.#onChange(lock, before, known)
  }

  #delete(lock: string): void {
    const before = this.#locks.get(lock)
    if (!before) return
    this.#locks.delete(lock)
    this.#hot.delete(lock)
    this.#elections.delete(lock)
    this.#removed += 1
    this.#onChange(lock, before, undefined)
  }
}

function keep(names: Set<string>, lock: string, isKept: boolean): void {
  if (isKept) names.add(lock)
  else names.delete(lock)
}

function byName(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
