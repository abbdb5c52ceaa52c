/** Observes the store during a wait: whether it answers, and its last failure. */
import { onLockEvent } from '../../index.js'
import { note } from '../output/note.js'

const TICK_MS = 1_000

export interface ContactOptions {
  readonly clientId: string
  /** The longest silence before the wait ends; Infinity for no limit. */
  readonly limitMs: number
  /** Writes nothing to stderr. */
  readonly quiet: boolean
  readonly giveUp: (failure: unknown) => void
}

export class StoreContact {
  readonly #options: ContactOptions
  readonly #stopListening: () => void
  readonly #timer: NodeJS.Timeout
  #answered = false
  #failure: unknown
  #isReported = false
  /**
   * This counts seconds instead of comparing times: a process that was stopped heard no answer,
   * which is no outage.
   */
  #silentMs = 0

  constructor(options: ContactOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    const stops = [
      onLockEvent('attempted', ({ clientId }) => {
        if (clientId !== options.clientId) return
        this.#answered = true
        this.#failure = undefined
        this.#silentMs = 0
      }),
      onLockEvent('store-unavailable', ({ clientId, error }) => {
        if (clientId === options.clientId) this.#failure = error
      }),
    ]
    this.#stopListening = () => {
      for (const stop of stops) stop()
    }
  }

  /** Whether the store answered within the last 3 s. A waiter asks at least once a second. */
  get answers(): boolean {
    return this.#answered && this.#silentMs < 3 * TICK_MS
  }

  /** Whether the store has answered at all. */
  get hasAnswered(): boolean {
    return this.#answered
  }

  /** The last failure; undefined when the store has answered since. */
  get failure(): unknown {
    return this.#failure
  }

  close(): void {
    clearInterval(this.#timer)
    this.#stopListening()
  }

  #tick(): void {
    this.#silentMs += TICK_MS
    const { limitMs, quiet, giveUp } = this.#options
    if (this.#failure !== undefined && !this.#isReported && !quiet) {
      this.#isReported = true
      note('the store cannot be reached; trying again.')
    }
    if (this.#silentMs >= limitMs) giveUp(this.#failure)
  }
}
