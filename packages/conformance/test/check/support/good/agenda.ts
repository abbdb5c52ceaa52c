/** Virtual time: planned events, in order. */
export class Agenda {
  nowNs = 0
  #made = 0
  readonly #entries: {
    readonly atNs: number
    readonly number: number
    readonly happens: () => void
  }[] = []

  after(ns: number, happens: () => void): void {
    const entry = { atNs: this.nowNs + ns, number: (this.#made += 1), happens }
    let place = this.#entries.length
    while (place > 0 && (this.#entries[place - 1]?.atNs as number) <= entry.atNs) place -= 1
    // The next event is last in the list. Events of one moment keep the order of planning.
    this.#entries.splice(place, 0, entry)
  }

  sleep(ns: number): Promise<void> {
    return new Promise((resolve) => this.after(ns, resolve))
  }

  async run(): Promise<void> {
    for (let entry = this.#entries.pop(); entry; entry = this.#entries.pop()) {
      this.nowNs = entry.atNs
      entry.happens()
      // Promise callbacks of this event run before the next event.
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    }
  }
}
