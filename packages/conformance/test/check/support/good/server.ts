/** The store and the fenced resource of the good lock. */
import type { HistoryNote } from '@holdfast/conformance'
import type { Agenda } from './agenda.js'

export const TTL_NS = 20_000_000

export interface Claim {
  readonly id: string
  weight: number
  /** How many tokens a grant reserves. */
  readonly tokens: number
  readonly onGrant: (token: bigint) => void
}

interface Entry extends Claim {
  token?: bigint
  startNs: number
  endsNs: number
}

export class Server {
  readonly truth: Omit<HistoryNote, 'key'>[] = []
  readonly #agenda: Agenda
  readonly #capacity: number
  #queue: Entry[] = []
  #lastToken = 0n

  constructor(agenda: Agenda, capacity: number) {
    this.#agenda = agenda
    this.#capacity = capacity
  }

  /** Whether it is granted at once. */
  ask(claim: Claim): boolean {
    const entry = { ...claim, startNs: 0, endsNs: 0 }
    this.#queue.push(entry)
    this.#grant()
    return entry.startNs > 0
  }

  renew(id: string): boolean {
    const entry = this.#held(id)
    if (entry) this.#extend(entry)
    return entry !== undefined
  }

  lower(id: string): void {
    const entry = this.#held(id)
    if (entry) entry.weight = 1
    this.#grant()
  }

  /** Whether it was held. */
  release(id: string): boolean {
    const entry = this.#held(id)
    if (entry) this.#end(entry)
    return entry !== undefined
  }

  #held(id: string): Entry | undefined {
    return this.#queue.find((entry) => entry.id === id && entry.startNs > 0)
  }

  /** Grants the claims that fit, in order. No claim overtakes another. */
  #grant(): void {
    let weight = 0
    for (const entry of this.#queue) {
      weight += entry.weight
      if (weight > this.#capacity) return
      if (entry.startNs > 0) continue
      entry.startNs = this.#agenda.nowNs
      entry.token = this.#lastToken + 1n
      this.#lastToken += BigInt(entry.tokens)
      this.#extend(entry)
      entry.onGrant(entry.token)
    }
  }

  #extend(entry: Entry): void {
    entry.endsNs = this.#agenda.nowNs + TTL_NS
    this.#agenda.after(TTL_NS, () => {
      if (this.#queue.includes(entry) && entry.endsNs <= this.#agenda.nowNs) this.#end(entry)
    })
  }

  #end(entry: Entry): void {
    this.#queue = this.#queue.filter((other) => other !== entry)
    this.truth.push({
      f: 'truth',
      type: 'info',
      owner: entry.id,
      tokens: entry.tokens,
      start_ns: BigInt(entry.startNs),
      end_ns: BigInt(this.#agenda.nowNs),
      ...(entry.token === undefined ? {} : { token: entry.token }),
    })
    this.#grant()
  }
}

/**
 * A counter that refuses late tokens. A read raises the fence too, or a late write could come
 * between a read and its write.
 */
export class Counter {
  fence = 0n
  #owner = ''
  #value = 0

  read(owner: string, token: bigint): number | undefined {
    if (token < this.fence || (token === this.fence && owner !== this.#owner)) return undefined
    this.fence = token
    this.#owner = owner
    return this.#value
  }

  write(owner: string, token: bigint, value: number): boolean {
    if (this.read(owner, token) === undefined) return false
    this.#value = value
    return true
  }
}
