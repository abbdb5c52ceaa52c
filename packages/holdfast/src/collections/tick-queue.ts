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
  readonly #flush: () => void
  #items: T[] = []

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
    this.#flush = this.flush.bind(this)
  }

  add(item: T): void {
    const count = this.#items.push(item)
    if (count >= this.#mostItems) this.flush()
    else if (count === 1) this.#atTickEnd(this.#flush)
  }

  /** Hands over what was added, before the end of the tick. */
  flush(): void {
    const items = this.#items
    if (items.length === 0) return
    this.#items = []
    this.#handle(items)
  }
}
