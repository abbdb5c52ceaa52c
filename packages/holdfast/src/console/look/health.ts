/** Whether a store answers the console, and how fast. */
import type { Clock } from '../../clock/clock.js'
import type { StoreView } from '../view.js'

const SLOW_MS = 500
const AWAY_MS = 5_000

export class Health {
  readonly #clock: Clock
  #state: StoreView['state'] = 'ok'
  #sinceMs: number
  /** When the request without an answer left. */
  #sentMs: number | undefined
  /** How long the last answer took. */
  latencyMs: number | undefined
  /** Why the last request failed. */
  error: unknown

  constructor(clock: Clock) {
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
  }

  get state(): StoreView['state'] {
    return this.#state
  }

  /** Since when the store is as it is, by the monotonic clock. */
  get sinceMs(): number {
    return this.#sinceMs
  }

  /** Asks, and notes how that ended. Resolves to undefined when it failed. */
  async watch<T>(request: () => T | PromiseLike<T>): Promise<T | undefined> {
    const sentMs = this.#clock.monotonicMs()
    this.#sentMs = sentMs
    try {
      const answer = await request()
      this.latencyMs = this.#clock.monotonicMs() - sentMs
      this.error = undefined
      this.#enter(this.latencyMs >= SLOW_MS ? 'slow' : 'ok', sentMs)
      return answer
    } catch (error) {
      this.error = error
      this.#enter('away', sentMs)
      return undefined
    } finally {
      this.#sentMs = undefined
    }
  }

  /** Notes how long the open request has had no answer. */
  check(): void {
    if (this.#sentMs === undefined) return
    const waitedMs = this.#clock.monotonicMs() - this.#sentMs
    if (waitedMs >= AWAY_MS) this.#enter('away', this.#sentMs)
    else if (waitedMs >= SLOW_MS && this.#state === 'ok') this.#enter('slow', this.#sentMs)
  }

  #enter(state: StoreView['state'], sinceMs: number): void {
    if (state === this.#state) return
    // A store that was slow before it went away has had its trouble for all that time.
    if (state === 'ok' || this.#state === 'ok') this.#sinceMs = sinceMs
    this.#state = state
  }
}
