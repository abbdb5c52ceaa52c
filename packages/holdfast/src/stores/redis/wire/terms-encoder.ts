/**
 * Encodes what the scripts need of a request besides its claim's id. Most requests of a process are
 * alike, so the last terms of each verb are kept. Encoding them for each request would be a good
 * part of its cost here.
 */
import type { Claim, Owner, Renewal } from '../../../store/contract.js'
import type { SealedRenewal } from './redlock-seal.js'

export interface EncodedTerms {
  /** All of it, as JSON. */
  readonly text: string
  /**
   * The TTL of a withdrawal, or the TTL and the tokens of an attempt. Undefined where the short
   * forms of `apply-batch.lua` cannot take the request.
   */
  readonly fast: number | undefined
}

const PLACES = 1024

/** Returns a TTL and a small number as one; undefined where that loses digits. */
export function packTtl(ttlMs: number, count: number): number | undefined {
  const both = ttlMs * PLACES + count
  return Number.isInteger(ttlMs) && count < PLACES && Number.isSafeInteger(both) ? both : undefined
}

/** Of a vote that is retracted. */
export const NO_TERMS: EncodedTerms = { text: '[]', fast: undefined }

export class TermsEncoder {
  readonly #owners = new WeakMap<Owner, string>()
  #lastClaim: Claim | undefined
  #enqueue = false
  #tokens = 0
  #attempt = NO_TERMS
  #renewed: Pick<Renewal, 'ttlMs' | 'owner'> | undefined
  #renewal = NO_TERMS
  #ttlMs = NaN
  #firm = false
  #withdrawal = NO_TERMS

  attempt(claim: Claim, enqueue: boolean, tokens: number): EncodedTerms {
    const last = this.#lastClaim
    if (
      last &&
      this.#enqueue === enqueue &&
      this.#tokens === tokens &&
      last.owner === claim.owner &&
      last.ttlMs === claim.ttlMs &&
      last.weight === claim.weight &&
      last.capacity === claim.capacity &&
      last.kind === claim.kind &&
      last.heartbeatMs === claim.heartbeatMs
    ) {
      return this.#attempt
    }
    const { kind, capacity, weight, ttlMs, heartbeatMs, owner } = claim
    const numbers = `${capacity},${weight},${ttlMs},${heartbeatMs},${tokens},${enqueue ? 1 : 0}`
    const text = `["${kind}",${numbers},${this.#ownerText(owner)}]`
    this.#attempt = { text, fast: weight === capacity ? packTtl(ttlMs, tokens) : undefined }
    this.#lastClaim = claim
    this.#enqueue = enqueue
    this.#tokens = tokens
    return this.#attempt
  }

  renewal(renewal: SealedRenewal): EncodedTerms {
    const { owner, token, keepsEnd } = renewal
    const ttlMs = keepsEnd === true ? 0 : renewal.ttlMs
    if (token !== undefined) {
      return { text: `[${ttlMs},${this.#ownerText(owner)},${token}]`, fast: undefined }
    }
    const last = this.#renewed
    if (last?.ttlMs !== ttlMs || last.owner !== owner) {
      this.#renewed = { ttlMs, owner }
      this.#renewal = { text: `[${ttlMs},${this.#ownerText(owner)}]`, fast: undefined }
    }
    return this.#renewal
  }

  withdrawal(ttlMs: number, firm: boolean): EncodedTerms {
    if (ttlMs !== this.#ttlMs || firm !== this.#firm) {
      this.#withdrawal = {
        text: `[${ttlMs},${firm ? 1 : 0}]`,
        fast: firm || packTtl(ttlMs, 0) === undefined ? undefined : ttlMs,
      }
      this.#ttlMs = ttlMs
      this.#firm = firm
    }
    return this.#withdrawal
  }

  seal(token: bigint): EncodedTerms {
    return { text: `[${token}]`, fast: undefined }
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
