/**
 * A set for what comes and goes by the ten thousand a second.
 *
 * The engine's own `Set` and `Map` replace their table every so many changes. Once a set is old its
 * dead tables are old as well, and each keeps alive what was in it until the next full collection:
 * nearly everything that ever was a member for a moment. Here who leaves is not pointed to by
 * anything.
 */

/**
 * Where a member stands. A class and no literal: when the first ones live long, the engine would
 * make all that come from a literal in the space of old objects, and there each keeps its member
 * alive until the next full collection.
 */
export class Place<T> {
  readonly value: T
  previous: Place<T> | undefined
  next: Place<T> | undefined
  /** Whether it has not been given up. */
  taken = true

  constructor(value: T, previous: Place<T> | undefined) {
    this.value = value
    this.previous = previous
    this.next = undefined
  }
}

export class LinkedSet<T> {
  #first: Place<T> | undefined
  #last: Place<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Puts it at the end. What is returned is needed to take it out again. */
  add(value: T): Place<T> {
    const place = new Place(value, this.#last)
    if (this.#last) this.#last.next = place
    else this.#first = place
    this.#last = place
    this.#size += 1
    return place
  }

  /** False when it was taken out before. */
  delete(place: Place<T>): boolean {
    if (!place.taken) return false
    place.taken = false
    if (place.previous) place.previous.next = place.next
    else this.#first = place.next
    if (place.next) place.next.previous = place.previous
    else this.#last = place.previous
    place.previous = place.next = undefined
    this.#size -= 1
    return true
  }

  /** Who came first of those that are here. */
  get first(): Place<T> | undefined {
    return this.#first
  }

  /** Those that are here now, in the order in which they came. */
  values(): T[] {
    const values: T[] = []
    for (let place = this.#first; place; place = place.next) values.push(place.value)
    return values
  }
}
