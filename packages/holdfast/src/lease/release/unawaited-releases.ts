/**
 * The releases that a `run` does not wait for (`awaitRelease: false`).
 *
 * A later attempt of this client for the same lock leaves behind them. A store with one ordered
 * connection (the trait `ordered`) gets it at once. Any other store gets it when they are answered:
 * an attempt that overtook the release would find the lock busy.
 */
import { atTickEndOf, type Clock } from '../../clock/clock.js'
import type { Store } from '../../store/contract.js'
import type { ReleaseOutcome } from './release-until-answered.js'

/** How many releases of a client may be open. Further callers wait for theirs. */
const MOST_OPEN = 1024

/** As much of a lease as is used. */
interface Releasable {
  readonly name: string
  return(): ReleaseOutcome
  releaseQuietly(): Promise<void>
}

export class OpenReleases {
  readonly #atTickEnd: (work: () => void) => void
  readonly #byLock = new Map<string, Promise<unknown>>()
  /** Each settles when all open releases of its lock are answered. */
  readonly byLock: ReadonlyMap<string, Promise<unknown>> = this.#byLock
  readonly #store: Pick<Store, 'written'>
  #open = 0

  constructor(store: Pick<Store, 'written'>, clock: Clock) {
    this.#store = store
    this.#atTickEnd = atTickEndOf(clock)
  }

  /** Resolves when the release has been written. Its outcome goes to the events. */
  async release(lease: Releasable): Promise<void> {
    if (this.#open >= MOST_OPEN) return lease.releaseQuietly()
    if (typeof lease.return() === 'string') return
    const { name } = lease
    const answered = lease.releaseQuietly().then(() => {
      this.#open -= 1
    })
    const all = Promise.all([this.#byLock.get(name), answered])
    this.#open += 1
    this.#byLock.set(name, all)
    void all.then(() => {
      if (this.#byLock.get(name) === all) this.#byLock.delete(name)
    })
    // What a store sends together leaves at the end of the tick.
    await new Promise<void>((resolve) => this.#atTickEnd(resolve))
    // The process may end now, and takes along what a client library has not written yet.
    await this.#store.written?.()
  }
}
