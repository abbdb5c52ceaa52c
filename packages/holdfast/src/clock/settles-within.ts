import { systemClock } from './clock.js'
import type { TimeoutOptions } from './with-timeout.js'

/**
 * Resolves to true when `promise` has settled either way, or to false after `ms`. Never rejects.
 */
export function settlesWithin(
  promise: PromiseLike<unknown>,
  ms: number,
  { clock = systemClock, background = false }: TimeoutOptions = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.timer(ms, () => resolve(false), background)
    const settled = (): void => {
      timer.cancel()
      resolve(true)
    }
    promise.then(settled, settled)
  })
}
