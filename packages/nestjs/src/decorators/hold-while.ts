/**
 * Holds a lock while the result of a method lasts. A promise lasts until it settles, and an
 * Observable until it completes or fails, or its subscriber leaves.
 */
import { isObservable } from 'rxjs'
import { HeldStream } from './held-stream.js'

/** What a method under a lock learns about it. */
export interface Held {
  readonly signal: AbortSignal
}

/** Runs work under a lock, and releases the lock when the work has ended. */
export type RunUnderLock = (work: (lease: Held) => Promise<unknown>) => Promise<unknown>

/**
 * Calls a method under a lock. An Observable that it returns is passed on at once, and the lock is
 * held until that has ended.
 * @param where the method, for errors
 */
export function holdWhile(
  run: RunUnderLock,
  where: string,
  proceed: () => unknown,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let stream: HeldStream | undefined
    const work = async (lease: Held): Promise<unknown> => {
      const result = await proceed()
      if (!isObservable(result)) return result
      stream = new HeldStream(result, where, lease.signal)
      resolve(stream.observable)
      return stream.ended
    }
    run(work).then(
      (value) => (stream ? stream.complete() : resolve(value)),
      (error: unknown) => (stream ? stream.fail(error) : reject(error)),
    )
  })
}
