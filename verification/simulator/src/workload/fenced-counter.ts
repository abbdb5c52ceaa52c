/**
 * The resource that the locks protect: one counter a lock, on a machine of its own that checks
 * fencing tokens.
 *
 * To increment it a holder reads, goes home, and writes what it read plus one: without exclusion
 * and without a fence an increment is lost. Reads are fenced too, or an old holder could write
 * between a new holder's read and its write.
 */
export interface CounterState {
  value: number
  /** The largest token seen, and who showed it. */
  fence: bigint | undefined
  owner: string
  /** How many writes were acknowledged. */
  acknowledged: number
}

export class FencedCounters {
  readonly #counters = new Map<string, CounterState>()

  /** The value, or undefined when a newer holder was here before. */
  read(key: string, owner: string, token: bigint | undefined): number | undefined {
    const counter = this.of(key)
    return pass(counter, owner, token) ? counter.value : undefined
  }

  write(key: string, owner: string, token: bigint | undefined, value: number): boolean {
    const counter = this.of(key)
    if (!pass(counter, owner, token)) return false
    counter.value = value
    counter.acknowledged += 1
    return true
  }

  of(key: string): CounterState {
    let counter = this.#counters.get(key)
    if (!counter) {
      counter = { value: 0, fence: undefined, owner: '', acknowledged: 0 }
      this.#counters.set(key, counter)
    }
    return counter
  }

  [Symbol.iterator](): IterableIterator<[string, CounterState]> {
    return this.#counters.entries()
  }
}

/**
 * Refuses a smaller token, and an equal one of another owner. A lock without tokens gets no
 * protection.
 */
function pass(counter: CounterState, owner: string, token: bigint | undefined): boolean {
  if (token === undefined) return true
  if (counter.fence !== undefined) {
    if (token < counter.fence) return false
    if (token === counter.fence && owner !== counter.owner) return false
  }
  counter.fence = token
  counter.owner = owner
  return true
}
