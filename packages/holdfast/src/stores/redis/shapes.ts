/**
 * What the scripts have to know of an item besides its claim's id, as JSON. Most items of a process are alike, so the last
 * text of each verb is kept: making it anew, and comparing it, would be a good part of what an item costs here.
 */
import type { Claim, Owner, Renewal } from '../../store/contract.js'

export class Shapes {
  readonly #owners = new WeakMap<Owner, string>()
  #like: Claim | undefined
  #enqueue = false
  #tokens = 0
  #attempt = ''
  #ttlMs = NaN
  #firm = false
  #withdrawal = ''

  attempt(claim: Claim, enqueue: boolean, tokens: number): string {
    if (this.#like && this.#enqueue === enqueue && this.#tokens === tokens && areAlike(this.#like, claim)) {
      return this.#attempt
    }
    const { kind, capacity, weight, ttlMs, heartbeatMs, owner } = claim
    const numbers = `${capacity},${weight},${ttlMs},${heartbeatMs},${tokens},${enqueue ? 1 : 0}`
    this.#attempt = `["${kind}",${numbers},${this.#ownerText(owner)}]`
    this.#like = claim
    this.#enqueue = enqueue
    this.#tokens = tokens
    return this.#attempt
  }

  renewal({ ttlMs, owner }: Renewal): string {
    return `[${ttlMs},${this.#ownerText(owner)}]`
  }

  withdrawal(ttlMs: number, firm: boolean): string {
    if (ttlMs !== this.#ttlMs || firm !== this.#firm) {
      this.#withdrawal = `[${ttlMs},${firm ? 1 : 0}]`
      this.#ttlMs = ttlMs
      this.#firm = firm
    }
    return this.#withdrawal
  }

  /** The owner as a JSON text inside JSON: the scripts keep it without reading it. */
  #ownerText(owner: Owner): string {
    let text = this.#owners.get(owner)
    if (text === undefined) {
      text = JSON.stringify(JSON.stringify(owner))
      this.#owners.set(owner, text)
    }
    return text
  }
}

function areAlike(one: Claim, other: Claim): boolean {
  return (
    one.owner === other.owner &&
    one.ttlMs === other.ttlMs &&
    one.weight === other.weight &&
    one.capacity === other.capacity &&
    one.kind === other.kind &&
    one.heartbeatMs === other.heartbeatMs
  )
}
