/** Counts the callers of a client that wait for locks with `maxWaiters`. Refuses one too many. */
import { LockQueueFullError } from '../../errors.js'

export class WaiterLimit {
  readonly #store: string
  /** By lock, for locks that have such waiters. */
  readonly #counts = new Map<string, number>()

  /** @param store the name of the store, for errors */
  constructor(store: string) {
    this.#store = store
  }

  /**
   * Lets a caller wait. `enter` returns no promise when it need not wait.
   * @throws LockQueueFullError when `most` callers wait for the lock already.
   */
  admit<T>(lock: string, most: number, enter: () => T | Promise<T>): T | Promise<T> {
    const count = this.#counts.get(lock) ?? 0
    if (count >= most) throw new LockQueueFullError(most, { lock, store: this.#store })
    const entered = enter()
    if (!(entered instanceof Promise)) return entered
    this.#counts.set(lock, count + 1)
    const left = (): void => this.#leave(lock)
    entered.then(left, left)
    return entered
  }

  #leave(lock: string): void {
    const count = (this.#counts.get(lock) ?? 1) - 1
    if (count === 0) this.#counts.delete(lock)
    else this.#counts.set(lock, count)
  }
}
