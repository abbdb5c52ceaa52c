/** Counts the callbacks that run under one lease. */

/** Waits for the callbacks that ran when it began. */
interface OpenWait {
  /** How many callbacks had begun by then. */
  readonly begun: number
  /** How many of them still run. */
  left: number
  readonly resolve: () => void
}

export class RunningCallbacks {
  size = 0
  #begun = 0
  #waits: OpenWait[] = []

  /** Returns the number of the callback, for `end`. */
  begin(): number {
    this.size += 1
    this.#begun += 1
    return this.#begun
  }

  end(callback: number): void {
    this.size -= 1
    for (const wait of this.#waits) {
      if (callback > wait.begun) continue
      wait.left -= 1
      if (wait.left === 0) wait.resolve()
    }
    if (this.#waits.length > 0) this.#waits = this.#waits.filter(({ left }) => left > 0)
  }

  /** Resolves when the callbacks that run now have settled. */
  async settled(): Promise<void> {
    if (this.size === 0) return
    const { size: left } = this
    const begun = this.#begun
    await new Promise<void>((resolve) => this.#waits.push({ begun, left, resolve }))
  }

  /** Resolves when no callback runs, those included that start meanwhile. */
  async idle(): Promise<void> {
    while (this.size > 0) await this.settled()
  }
}
