/**
 * Collects the items that are added in one tick, and hands them over together when it ends.
 *
 * By default the tick ends with `process.nextTick`: the promises that settle in this tick have run
 * their callbacks by then, which may have added more.
 */
export class TickQueue<T> {
  readonly #handle: (items: readonly T[]) => void
  readonly #atTickEnd: (work: () => void) => void
  readonly #mostItems: number
  #items: T[] = []
  /** Whether the end of this tick is awaited. */
  #isScheduled = false
  readonly #onTickEnd = (): void => {
    this.#isScheduled = false
    this.flush()
  }

  /**
   * @param handle takes the items of a tick, at least one, in the order in which they were added
   * @param mostItems with this many it takes them at once
   */
  constructor(
    handle: (items: readonly T[]) => void,
    atTickEnd: (work: () => void) => void = (work) => process.nextTick(work),
    mostItems = Infinity,
  ) {
    this.#handle = handle
    this.#atTickEnd = atTickEnd
    this.#mostItems = mostItems
  }

  add(item: T): void {
    if (this.#items.push(item) >= this.#mostItems) {
      this.flush()
      return
    }
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#atTickEnd(this.#onTickEnd)
  }

  /** Hands over what was added, before the end of the tick. */
  flush(): void {
    const items = this.#items
    if (items.length === 0) return
    this.#items = []
    this.#handle(items)
  }
}
