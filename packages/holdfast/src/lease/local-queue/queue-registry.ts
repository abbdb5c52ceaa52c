/**
 * The local queues of a client, by what their callers want. Each is made when it is needed, and
 * used again.
 */
import type { HeldLease } from '../hold/held-lease.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { ClaimSource } from '../runtime/open-waits.js'
import type { WaitLimits } from '../wait/caller-wait.js'

/** Up to this number, idle queues are kept. */
const KEPT = 256

/** A queue of callers of one client that want alike leases of one lock. */
export interface LocalQueue extends ClaimSource {
  /** Whether no caller needs it now. */
  readonly idle: boolean
  /** @throws what the store threw synchronously. */
  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): HeldLease | Promise<HeldLease>
}

export class QueueRegistry<Q extends LocalQueue> {
  readonly #make: (template: ClaimTemplate) => Q
  readonly #all = new Map<string, Q>()
  #sweepAt = KEPT

  constructor(make: (template: ClaimTemplate) => Q) {
    this.#make = make
  }

  /** Returns the queue, if this process wants or holds the lock, or did a while ago. */
  find(key: string): Q | undefined {
    return this.#all.get(key)
  }

  /** @param key equal only for claims that are alike */
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
   * Forgets idle queues, all at once. Most locks are wanted again soon, and a map with frequent
   * removals costs more than the queues in it.
   */
  #sweep(): void {
    for (const [key, queue] of this.#all) if (queue.idle) this.#all.delete(key)
    this.#sweepAt = Math.max(KEPT, 2 * this.#all.size)
  }
}
