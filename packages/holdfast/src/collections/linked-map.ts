/**
 * A map by name for what comes and goes by the ten thousand a second. Why not the engine's own: see
 * `LinkedSet`. The names must differ near their ends, as those of a count do.
 */

class Entry<T> {
  readonly name: string
  readonly value: T
  next: Entry<T> | undefined

  constructor(name: string, value: T) {
    this.name = name
    this.value = value
    this.next = undefined
  }
}

/** So many characters of a name, the last ones, say where its entry is. */
const HASHED = 8
const SMALLEST = 64

export class LinkedMap<T> {
  /** A power of two of them, each a chain of entries. */
  #chains = emptyChains<T>(SMALLEST)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(name: string): T | undefined {
    for (let entry = this.#chains[this.#chainOf(name)]; entry; entry = entry.next) {
      if (entry.name === name) return entry.value
    }
    return undefined
  }

  /** Only for a name that is not there. */
  add(name: string, value: T): void {
    if (this.#size >= this.#chains.length) this.#grow()
    this.#put(new Entry(name, value))
    this.#size += 1
  }

  /** False when it was not there. */
  delete(name: string): boolean {
    const at = this.#chainOf(name)
    let before: Entry<T> | undefined
    for (let entry = this.#chains[at]; entry; entry = entry.next) {
      if (entry.name !== name) {
        before = entry
        continue
      }
      if (before) before.next = entry.next
      else this.#chains[at] = entry.next
      entry.next = undefined
      this.#size -= 1
      return true
    }
    return false
  }

  clear(): void {
    this.#chains = emptyChains(SMALLEST)
    this.#size = 0
  }

  /** In no order. */
  values(): T[] {
    return this.#entries().map(({ value }) => value)
  }

  #entries(): Entry<T>[] {
    const entries: Entry<T>[] = []
    for (const first of this.#chains)
      for (let entry = first; entry; entry = entry.next) entries.push(entry)
    return entries
  }

  #put(entry: Entry<T>): void {
    const at = this.#chainOf(entry.name)
    entry.next = this.#chains[at]
    this.#chains[at] = entry
  }

  #grow(): void {
    const entries = this.#entries()
    this.#chains = emptyChains(2 * this.#chains.length)
    for (const entry of entries) this.#put(entry)
  }

  #chainOf(name: string): number {
    let hash = 0
    for (let at = Math.max(0, name.length - HASHED); at < name.length; at += 1) {
      hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0
    }
    return hash & (this.#chains.length - 1)
  }
}

function emptyChains<T>(length: number): (Entry<T> | undefined)[] {
  return Array.from({ length }, () => undefined)
}
