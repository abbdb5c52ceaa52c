/** The callbacks that run under one lease. */
export class RunningCallbacks {
  readonly #running = new Set<Promise<unknown>>()

  get size(): number {
    return this.#running.size
  }

  add(callback: Promise<unknown>): void {
    const entry = callback.then(
      () => undefined,
      () => undefined,
    )
    this.#running.add(entry)
    void entry.then(() => this.#running.delete(entry))
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
