/** What a run that waits knows of its store: whether it answers, and what went wrong last. */
import { onLockEvent } from 'holdfast'
import { note } from '../report.js'

const TICK_MS = 1_000

export interface ContactOptions {
  readonly clientId: string
  /** After how long a silence the wait is given up; Infinity for never. */
  readonly limitMs: number
  /** Says nothing on stderr. */
  readonly quiet: boolean
  readonly giveUp: (failure: unknown) => void
}

export class StoreContact {
  readonly #options: ContactOptions
  readonly #stopListening: () => void
  readonly #timer: NodeJS.Timeout
  #answered = false
  #failure: unknown
  #told = false
  /**
   * Seconds are counted, and no times compared: a process that was stopped has heard nobody, and
   * that is no outage.
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

  /** Whether the store has answered lately. A waiter asks at least once a second. */
  get answers(): boolean {
    return this.#answered && this.#silentMs < 3 * TICK_MS
  }

  /** Why the store could not be reached last; undefined when it has answered since. */
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
    if (this.#failure !== undefined && !this.#told && !quiet) {
      this.#told = true
      note('the store cannot be reached; trying again.')
    }
    if (this.#silentMs >= limitMs) giveUp(this.#failure)
  }
}
