/** A binary heap: the smallest item comes out first. */
export class Heap<Item> {
  readonly #items: Item[] = []
  readonly #isBefore: (a: Item, b: Item) => boolean

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#items.length
  }

  /** The smallest item. It stays in the heap. */
  get first(): Item | undefined {
    return this.#items[0]
  }

  /** Returns all items, in no order. */
  values(): IterableIterator<Item> {
    return this.#items.values()
  }

  push(item: Item): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(item, items[parent] as Item)) break
      items[at] = items[parent] as Item
      at = parent
    }
    items[at] = item
  }

  pop(): Item | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (items.length > 0) this.#sink(last as Item)
    return first
  }

  #sink(item: Item): void {
    const items = this.#items
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (
        child + 1 < items.length &&
        this.#isBefore(items[child + 1] as Item, items[child] as Item)
      )
        child += 1
      if (!this.#isBefore(items[child] as Item, item)) break
      items[at] = items[child] as Item
      at = child
    }
    items[at] = item
  }
}
