/** Looks again and again until something is so. The time is a bound, not a wait. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface EventuallyOptions {
  readonly withinMs?: number | undefined
  readonly everyMs?: number
}

/**
 * Resolves when `isSo` is true. An error of it counts as not yet so.
 * @throws Error when the time is over, with the last error of `isSo` as its cause
 */
export async function eventually(
  what: string | (() => string),
  isSo: () => unknown,
  { withinMs = 20_000, everyMs = 5 }: EventuallyOptions = {},
): Promise<void> {
  const giveUpMs = performance.now() + withinMs
  for (;;) {
    let cause: unknown
    try {
      if (await isSo()) return
    } catch (error) {
      cause = error
    }
    if (performance.now() > giveUpMs) {
      throw new Error(`${typeof what === 'string' ? what : what()}: not within ${withinMs} ms`, {
        cause,
      })
    }
    await sleep(everyMs)
  }
}
