/** An Observable under a lock. Its subscriber sees the end when the lock has been released. */
import { AsyncResource } from 'node:async_hooks'
import { isLockError, LockUsageError } from 'holdfast'
import { Observable, Subscription, type Subscriber } from 'rxjs'

/** How long an Observable may have no subscriber before its lock is released, in milliseconds. */
const SUBSCRIBE_WITHIN_MS = 5_000

export class HeldStream {
  /** What the caller of the method gets. It may be subscribed to once, as Nest does. */
  readonly observable: Observable<unknown>
  /** Settles when the work is over, and the lock may be released. */
  readonly ended: Promise<void>
  readonly #where: string
  #state: 'unused' | 'in use' | 'over' = 'unused'
  #subscriber: Subscriber<unknown> | undefined
  #end!: () => void
  #fail!: (error: unknown) => void

  /** @param signal of the lease: its abort ends the work, as for any work under a lock */
  constructor(source: Observable<unknown>, where: string, signal: AbortSignal) {
    this.#where = where
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    // What the source does for its subscriber runs under the lock, as the method did.
    const start = AsyncResource.bind((): Subscription => this.#start(source))
    const unused = setTimeout(() => this.#end(), SUBSCRIBE_WITHIN_MS)
    this.observable = new Observable((subscriber) => {
      if (!this.#accept(subscriber)) return undefined
      clearTimeout(unused)
      const subscription = start()
      return () => {
        subscription.unsubscribe()
        this.#end()
      }
    })
    const onAbort = (): void => this.#onAbort(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    const cleanUp = (): void => {
      this.#state = 'over'
      clearTimeout(unused)
      signal.removeEventListener('abort', onAbort)
    }
    this.ended.then(cleanUp, cleanUp)
  }

  /** Called when the lock has been released. */
  complete(): void {
    this.#subscriber?.complete()
  }

  /** Called when the work failed, or the lock was lost. */
  fail(error: unknown): void {
    this.#subscriber?.error(error)
  }

  #accept(subscriber: Subscriber<unknown>): boolean {
    if (this.#state === 'unused') {
      this.#state = 'in use'
      this.#subscriber = subscriber
      return true
    }
    const text =
      this.#state === 'in use' || this.#subscriber
        ? 'may be subscribed to once: the lock is released when that subscription ends.'
        : `had no subscriber for ${SUBSCRIBE_WITHIN_MS} ms, so its lock was released.`
    subscriber.error(new LockUsageError(`The Observable of ${this.#where} ${text}`))
    return false
  }

  #start(source: Observable<unknown>): Subscription {
    try {
      return source.subscribe({
        next: (value) => this.#subscriber?.next(value),
        error: (error: unknown) => this.#fail(error),
        complete: () => this.#end(),
      })
    } catch (error) {
      // An Observable of another library may throw, and the lock must not outlive it.
      this.#fail(error)
      return Subscription.EMPTY
    }
  }

  /** A client that closes lets the work end by itself. Any other abort ends it. */
  #onAbort(reason: unknown): void {
    if (isLockError(reason) && reason.code === 'LOCKS_CLOSED') return
    this.#fail(reason)
  }
}
