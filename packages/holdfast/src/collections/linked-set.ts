/**
 * A set whose members change ten thousand times a second.
 *
 * The own `Set` and `Map` of the engine replace their tables as members change. The dead tables of
 * an old set are old as well. Each keeps nearly everything that ever was a member for a moment
 * alive until the next full collection. Here nothing points to a member that has left.
 */

/**
 * Where a member stands. It is a class and not a literal. Once the first ones live long, the engine
 * allocates later literals among old objects. There each keeps its member alive until the next full
 * collection.
 */
export class Place<T> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly value: T
  declare previous: Place<T> | undefined
  declare next: Place<T> | undefined
  /** Whether its member is in the set. */
  declare taken: boolean

  constructor(value: T, previous: Place<T> | undefined) {
    this.value = value
    this.previous = previous
    this.next = undefined
    this.taken = true
  }
}

export class LinkedSet<T> {
  /** How many members it has. Only the set changes it. */
  size = 0
  /** The place of the oldest member. Only the set changes it. */
  first: Place<T> | undefined
  #last: Place<T> | undefined

  /** Adds a member at the end. Returns its place, which `delete` takes. */
  add(value: T): Place<T> {
    const place = new Place(value, this.#last)
    if (this.#last) this.#last.next = place
    else this.first = place
    this.#last = place
    this.size += 1
    return place
  }

  /** Removes a member. Returns false when it was removed before. */
  delete(place: Place<T>): boolean {
    if (!place.taken) return false
    place.taken = false
    if (place.previous) place.previous.next = place.next
    else this.first = place.next
    if (place.next) place.next.previous = place.previous
    else this.#last = place.previous
    place.previous = place.next = undefined
    this.size -= 1
    return true
  }

  /** Removes the oldest member and returns it. */
  shift(): T | undefined {
    const { first } = this
    if (!first) return undefined
    this.delete(first)
    return first.value
  }

  /** Returns the members in the order in which they came. */
  values(): T[] {
    const values: T[] = []
    for (let place = this.first; place; place = place.next) values.push(place.value)
    return values
  }
}
