/** What a test waits for inside of a handler, and the other way round. */

/** A point that a handler reaches, and the word to continue. */
export class Gate {
  readonly reached: Promise<void>
  readonly #opened: Promise<void>
  #reach!: () => void
  #open!: () => void

  constructor() {
    this.reached = new Promise((resolve) => (this.#reach = resolve))
    this.#opened = new Promise((resolve) => (this.#open = resolve))
  }

  /** Called by the handler. */
  pass(): Promise<void> {
    this.#reach()
    return this.#opened
  }

  open(): void {
    this.#open()
  }
}

/** Resolves with the reason when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}
