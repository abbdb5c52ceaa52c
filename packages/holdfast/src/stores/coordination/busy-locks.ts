/**
 * The locks for which the last claim of this client had to wait: the next claim is likely to wait
 * too.
 */

/** How many locks are remembered. */
const KEPT = 10_000

export class BusyLocks {
  readonly #locks = new Set<string>()

  has(lock: string): boolean {
    return this.#locks.has(lock)
  }

  note(lock: string, waited: boolean): void {
    this.#locks.delete(lock)
    if (waited) this.#locks.add(lock)
    if (this.#locks.size <= KEPT) return
    for (const oldest of this.#locks) {
      this.#locks.delete(oldest)
      return
    }
  }
}
