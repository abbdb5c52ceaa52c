import type { StoredLock } from './codec.js'

/** The number of locks that stay unpacked between transactions. */
const CACHED_LOCKS = 256

/** Unpacked locks. One is good for as long as its row says what it said when it was packed. */
export class LockCache {
  readonly #entries = new Map<string, { readonly text: string; readonly lock: StoredLock }>()

  /** Gives the lock away: a transaction that fails must not leave its changes here. */
  take(name: string, text: string): StoredLock | undefined {
    const entry = this.#entries.get(name)
    this.#entries.delete(name)
    return entry?.text === text ? entry.lock : undefined
  }

  keep(name: string, text: string, lock: StoredLock): void {
    if (this.#entries.size >= CACHED_LOCKS) this.#entries.clear()
    this.#entries.set(name, { text, lock })
  }

  clear(): void {
    this.#entries.clear()
  }
}
