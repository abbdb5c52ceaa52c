/**
 * The local queues of a client, by what their callers want. One is made when it is needed, and made
 * use of again.
 */
import type { ClaimTemplate } from './runtime.js'

/** Below so many nobody looks for idle ones. */
const KEPT = 256

export class QueueRegistry<Q extends { readonly idle: boolean }> {
  readonly #make: (template: ClaimTemplate) => Q
  readonly #all = new Map<string, Q>()
  #sweepAt = KEPT

  constructor(make: (template: ClaimTemplate) => Q) {
    this.#make = make
  }

  /** Where somebody of this process wants or holds the lock, or did a while ago. */
  find(key: string): Q | undefined {
    return this.#all.get(key)
  }

  /** @param key the same only for claims that are alike */
  get(key: string, template: ClaimTemplate): Q {
    let queue = this.#all.get(key)
    if (!queue) {
      if (this.#all.size >= this.#sweepAt) this.#sweep()
      queue = this.#make(template)
      this.#all.set(key, queue)
    }
    return queue
  }

  /**
   * Forgets those that nobody needs any more. Not each when it falls idle: most locks are wanted
   * again, and a map out of which so much is taken costs more than what it holds.
   */
  #sweep(): void {
    for (const [key, queue] of this.#all) if (queue.idle) this.#all.delete(key)
    this.#sweepAt = Math.max(KEPT, 2 * this.#all.size)
  }
}
