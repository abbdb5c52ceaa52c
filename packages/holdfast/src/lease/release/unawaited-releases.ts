/**
 * The releases that a `run` does not wait for (`awaitRelease: false`).
 *
 * A later attempt of this client for the same lock leaves behind them. A store that keeps their
 * order (the trait `ordered`) gets it at once. Any other store gets it when they are answered: an
 * attempt that overtook the release would find the lock busy. A store that can still send when the
 * process exits (`flush`) sends an attempt of the same tick in the request of the release.
 */
import { atTickEndOf, type Clock } from '../../clock/clock.js'
import { atExit } from '../runtime/at-exit.js'
import type { Store } from '../../store/contract.js'

/** How many releases of a client may be open. Further callers wait for theirs. */
const MOST_OPEN = 1024

/** How a store writes what it is asked. */
type Written = Pick<Store, 'written' | 'flush' | 'noteOpenRelease'>

/** As much of a lease as is used. */
interface Releasable {
  readonly name: string
  releaseQuietly(): Promise<unknown> | undefined
}

export class OpenReleases {
  readonly #atTickEnd: (work: () => void) => void
  readonly #byLock = new Map<string, Promise<unknown>>()
  /** Each settles when all open releases of its lock are answered. */
  readonly byLock: ReadonlyMap<string, Promise<unknown>> = this.#byLock
  readonly #store: Written
  #open = 0
  /** Forgets that the store sends the open releases if the process exits. */
  #forgetExit: (() => void) | undefined

  constructor(store: Written, clock: Clock) {
    this.#store = store
    this.#atTickEnd = atTickEndOf(clock)
  }

  /**
   * Resolves when the release is bound to be written. Its outcome goes to the events. Where the
   * store can send at once, the next attempt of the same tick then travels with the release.
   */
  async release(lease: Releasable): Promise<void> {
    if (this.#open >= MOST_OPEN) {
      await lease.releaseQuietly()
      return
    }
    const { name } = lease
    const release = lease.releaseQuietly()
    if (!release) return
    this.#note(name, release)
    const lent = this.#store.noteOpenRelease?.(name)
    if (this.#store.flush) {
      this.#forgetExit ??= atExit(() => this.#store.flush?.())
      if (lent) return lent
      if (!this.#store.noteOpenRelease) return
    }
    // What a store sends together leaves at the end of the tick.
    await new Promise<void>((resolve) => this.#atTickEnd(resolve))
    // The process may end now, and takes along what a client library has not written yet.
    await this.#store.written?.()
  }

  /** Nearly always it is the only open release of its lock, which needs no further promise. */
  #note(lock: string, release: Promise<unknown>): void {
    const earlier = this.#byLock.get(lock)
    const all = earlier ? Promise.all([earlier, release]) : release
    this.#open += 1
    this.#byLock.set(lock, all)
    void release.then(() => {
      this.#open -= 1
      if (this.#open === 0) this.#sendNothingAtExit()
      if (all === release) this.#forget(lock, all)
    })
    if (all !== release) void all.then(() => this.#forget(lock, all))
  }

  #forget(lock: string, all: Promise<unknown>): void {
    if (this.#byLock.get(lock) === all) this.#byLock.delete(lock)
  }

  #sendNothingAtExit(): void {
    this.#forgetExit?.()
    this.#forgetExit = undefined
  }
}
