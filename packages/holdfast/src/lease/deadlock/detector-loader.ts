/**
 * Loads the deadlock detector when work under a lease waits for the first time. Most programs never
 * nest locks, and a bundle starts without it.
 */
import type { DeadlockDetector, DetectorContext } from './detector.js'
import type { NestedRequest, PendingWait } from './wait-under-leases.js'

export class DetectorLoader {
  readonly #context: DetectorContext
  readonly #checkMs: number
  #detector: DeadlockDetector | undefined
  #loading: Promise<void> | undefined

  /** @param checkMs after which time other clients are asked; Infinity for never */
  constructor(context: DetectorContext, checkMs: number) {
    this.#context = context
    this.#checkMs = checkMs
  }

  /** Adds a wait that begins. Returns the function that removes it when it has settled. */
  add(wait: PendingWait, request: NestedRequest): () => void {
    if (this.#detector) return this.#detector.add(wait, request)
    let isOver = false
    let remove = (): void => {
      isOver = true
    }
    this.#loading ??= this.#load()
    void this.#loading.then(() => {
      if (this.#detector && !isOver) remove = this.#detector.add(wait, request)
    })
    return () => remove()
  }

  /** Never rejects. Without the detector a wait in a deadlock ends with its `waitMs`. */
  async #load(): Promise<void> {
    try {
      const { DeadlockDetector } = await import('./detector.js')
      this.#detector = new DeadlockDetector(this.#context, this.#checkMs)
    } catch (error) {
      process.emitWarning(`Deadlocks are not detected: ${String(error)}`, 'HoldfastWarning')
    }
  }
}
