/**
 * Limits on the wait for an answer. The request itself continues: a limit cannot undo it.
 */
import { systemClock, type Clock } from './clock.js'

export interface TimeoutOptions {
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** The timer does not keep the process alive. Default false. */
  readonly background?: boolean | undefined
}

/** Settles as `promise` does, or rejects with `makeError()` when that takes longer than `ms`. */
export function withTimeout<T>(
  promise: PromiseLike<T>,
  ms: number,
  makeError: () => Error,
  { clock = systemClock, background = false }: TimeoutOptions = {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(ms, () => reject(makeError()), background)
    promise.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      (error: unknown) => {
        timer.cancel()
        reject(error)
      },
    )
  })
}
