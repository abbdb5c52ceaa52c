/** How many items fill a list, which then leaves before its tick ends. */
interface Largest {
  /** The first list of a tick. */
  readonly first: number
  /** Each further list of the tick. */
  readonly later: number
}

/**
 * Collects the items that are added in one tick, and hands them over together when it ends.
 *
 * By default the tick ends with `process.nextTick`: the promises that settle in this tick have run
 * their callbacks by then, which may have added more.
 */
export class TickQueue<T> {
  readonly #handle: (items: readonly T[]) => void
  readonly #atTickEnd: (work: () => void) => void
  readonly #largest: Largest
  readonly #endTick: () => void
  #items: T[] = []
  /** How many ends of ticks are still to come whose items have left early. */
  #endsToSkip = 0

  /**
   * @param handle takes the items of a tick, at least one, in the order in which they were added
   * @param largest with how many it takes them at once
   */
  constructor(
    handle: (items: readonly T[]) => void,
    atTickEnd: (work: () => void) => void = (work) => process.nextTick(work),
    largest: Largest = { first: Infinity, later: Infinity },
  ) {
    this.#handle = handle
    this.#atTickEnd = atTickEnd
    this.#largest = largest
    // Each list has an end of its own: it leaves in the async context of its first item.
    this.#endTick = () => {
      if (this.#endsToSkip > 0) this.#endsToSkip -= 1
      else this.#handOver()
    }
  }

  add(item: T): void {
    const count = this.#items.push(item)
    const { first, later } = this.#largest
    if (count >= (this.#endsToSkip > 0 ? later : first)) {
      if (count > 1) this.#endsToSkip += 1
      this.#handOver()
    } else if (count === 1) this.#atTickEnd(this.#endTick)
  }

  /** Hands over what was added, before the end of the tick. */
  flush(): void {
    if (this.#items.length === 0) return
    this.#endsToSkip += 1
    this.#handOver()
  }

  #handOver(): void {
    const items = this.#items
    this.#items = []
    this.#handle(items)
  }
}
