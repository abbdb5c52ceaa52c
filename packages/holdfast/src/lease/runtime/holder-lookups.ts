/**
 * Finds out who holds a lock when a long wait for it ends. One request serves all callers of a lock
 * whose waits end together. It is an extra: without an answer the error names no holder.
 */
import type { Clock } from '../../clock/clock.js'
import { withTimeout } from '../../clock/with-timeout.js'
import type { HolderInfo, Store } from '../../store/contract.js'
import { withJson } from '../../store/with-json.js'

/** How long the caller waits for the answer, in milliseconds. */
const ANSWER_WITHIN_MS = 250
/** How long an answer serves further callers, in milliseconds: their timers fire one by one. */
const TOGETHER_MS = 20
/** For how many locks a client asks at a time. */
const MOST_LOCKS = 32

export class HolderLookups {
  readonly #store: Store
  readonly #clock: Clock
  /** The requests that are open or were just answered, by lock. */
  readonly #open = new Map<string, Promise<readonly HolderInfo[]>>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Resolves to the holders. Rejects, or resolves to none, where the store does not say. */
  async of(lock: string): Promise<readonly HolderInfo[]> {
    const open = this.#open.get(lock)
    if (open) return open
    if (this.#open.size >= MOST_LOCKS) return []
    const look = this.#look(lock)
    this.#open.set(lock, look)
    const forget = (): void =>
      void this.#clock.timer(TOGETHER_MS, () => this.#open.delete(lock), true)
    look.then(forget, forget)
    return look
  }

  async #look(lock: string): Promise<readonly HolderInfo[]> {
    const asked = Promise.resolve(this.#store.inspect([lock], []))
    const [info] = await withTimeout(asked, ANSWER_WITHIN_MS, late, { clock: this.#clock })
    return info?.holders.map((holder) => withJson({ ...holder })) ?? []
  }
}

function late(): Error {
  return new Error('no answer in time')
}
