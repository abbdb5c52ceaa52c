/**
 * The keys of a `Map` or `Set` from the oldest on, for a collection that forgets its oldest ones.
 *
 * The engine keeps a hole where a key has left until it replaces the table. An iteration from the
 * beginning passes all holes, so that each removal of the oldest key costs as much as the
 * collection is large. One iterator that continues from where it stood passes each hole once.
 */
export class OldestKeys<K> {
  readonly #of: { keys(): Iterator<K> }
  #at: Iterator<K> | undefined

  constructor(of: { keys(): Iterator<K> }) {
    this.#of = of
  }

  /**
   * Returns the key after the one that it returned last, and begins again after the newest one.
   * Undefined when the collection is empty. The oldest key, if each earlier one was deleted or set
   * again.
   */
  next(): K | undefined {
    const next = this.#at?.next()
    if (next && next.done !== true) return next.value
    this.#at = this.#of.keys()
    const first = this.#at.next()
    return first.done === true ? undefined : first.value
  }
}
