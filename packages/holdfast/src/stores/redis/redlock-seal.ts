/** Tokens that a client of several independent servers chose: `scripts/parts/redlock-seal.lua`. */
import type { Renewal } from '../../store/contract.js'

/**
 * - `sealed`: the claim has the token here, and no other claim has or will have it.
 * - `behind`: the token is not larger than `lastToken`, which this server gave to some claim.
 * - `absent`: the claim does not hold the lock here, or was stolen.
 */
export type SealResult =
  | { readonly outcome: 'sealed' | 'absent' }
  | { readonly outcome: 'behind'; readonly lastToken: bigint }

/** The renewal of a claim whose token several servers sealed. */
export interface SealedRenewal extends Renewal {
  readonly token?: bigint | undefined
}
