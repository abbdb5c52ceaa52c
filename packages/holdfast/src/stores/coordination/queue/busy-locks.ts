/**
 * The locks for which the last claim of this client had to wait: the next claim is likely to wait
 * too.
 */
import { OldestKeys } from '../../../collections/oldest-keys.js'

/** How many locks are remembered. */
const KEPT = 10_000

export class BusyLocks {
  readonly #locks = new Set<string>()
  readonly #oldest = new OldestKeys(this.#locks)

  has(lock: string): boolean {
    return this.#locks.has(lock)
  }

  note(lock: string, waited: boolean): void {
    this.#locks.delete(lock)
    if (waited) this.#locks.add(lock)
    const oldest = this.#locks.size > KEPT ? this.#oldest.next() : undefined
    if (oldest !== undefined) this.#locks.delete(oldest)
  }
}
