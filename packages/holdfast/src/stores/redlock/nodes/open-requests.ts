/** The requests that nodes have not answered, also those that no caller waits for any more. */
import type { Clock } from '../../../clock/clock.js'
import type { MaybePromise } from '../../../store/maybe-promise.js'
import { settlesWithin } from '../../../clock/settles-within.js'

export class OpenRequests {
  readonly #open = new Set<Promise<unknown>>()

  /** Sends a request. Rejects also with what `request` throws. */
  send<T>(request: () => MaybePromise<T>): Promise<T> {
    const answer = (async () => request())()
    this.#open.add(answer)
    const over = (): void => void this.#open.delete(answer)
    answer.then(over, over)
    return answer
  }

  /** Resolves when all are answered, with those that answers lead to, or when the time is up. */
  async end(clock: Clock, withinMs: number): Promise<void> {
    const untilMs = clock.monotonicMs() + withinMs
    for (;;) {
      const leftMs = untilMs - clock.monotonicMs()
      if (this.#open.size === 0 || leftMs <= 0) return
      await settlesWithin(Promise.allSettled(this.#open), leftMs, { clock })
      // What their answers lead to leaves within this turn.
      await new Promise<void>((resolve) => clock.timer(0, resolve))
    }
  }
}
