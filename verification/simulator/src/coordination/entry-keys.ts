/**
 * The keys of one client's entries at a service like etcd. A claim takes a key that an earlier one
 * has left, so that the service has few keys to remember.
 */
export class EntryKeys {
  readonly #newName: () => string
  #name: string
  #next = 0
  #free: string[] = []
  readonly #taken = new Map<string, string>()

  /** @param newName draws the beginning of keys that no other client has */
  constructor(newName: () => string) {
    this.#newName = newName
    this.#name = newName()
  }

  /** The key of a claim's entry: the same one until it is released. */
  take(lock: string, id: string): string {
    const known = this.#taken.get(`${id} ${lock}`)
    if (known !== undefined) return known
    const free = this.#free.findIndex((key) => lockOf(key) === lock)
    const key =
      free < 0 ? `${lock}/${this.#name}-${(this.#next += 1)}` : this.#free.splice(free, 1)[0]
    this.#taken.set(`${id} ${lock}`, key as string)
    return key as string
  }

  /** Another key for a claim: an entry stands there that this client has exported. */
  exchange(lock: string, id: string): string {
    this.#taken.delete(`${id} ${lock}`)
    return this.take(lock, id)
  }

  /** The entry of this claim is gone for certain, or was never made. */
  release(lock: string, id: string): void {
    const key = this.#taken.get(`${id} ${lock}`)
    if (key === undefined || !this.#taken.delete(`${id} ${lock}`)) return
    if (key.startsWith(`${lock}/${this.#name}-`)) this.#free.push(key)
  }

  /** A request in flight may use one of these keys at any later moment. */
  abandon(): void {
    this.#name = this.#newName()
    this.#free = []
  }
}

/** The lock in whose queue a key stands. */
export function lockOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'))
}
