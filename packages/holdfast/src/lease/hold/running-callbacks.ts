/** The callbacks that run under one lease. */
export class RunningCallbacks {
  readonly #running = new Set<Promise<unknown>>()
  readonly #onIdle: () => void

  /** @param onIdle called each time when no callback runs any more */
  constructor(onIdle: () => void) {
    this.#onIdle = onIdle
  }

  get size(): number {
    return this.#running.size
  }

  add(callback: Promise<unknown>): void {
    const entry = callback.then(
      () => undefined,
      () => undefined,
    )
    this.#running.add(entry)
    void entry.then(() => {
      this.#running.delete(entry)
      if (this.size === 0) this.#onIdle()
    })
  }

  /** Resolves when the callbacks that run now have settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Resolves when no callback runs, those included that start meanwhile. */
  async idle(): Promise<void> {
    while (this.size > 0) await this.settled()
  }
}
