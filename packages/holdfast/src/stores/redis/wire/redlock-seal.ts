/** What Redlock asks of each of its servers beside the verbs of a store: seals and adoptions. */
import type { LostRenewal, Renewal } from '../../../store/contract.js'

/**
 * - `sealed`: the claim has the token here, and no other claim has or will have it.
 * - `behind`: the token is not larger than `lastToken`, which this server gave to some claim.
 * - `lost`: the claim does not hold the lock here, or was stolen.
 */
export type SealResult =
  | { readonly outcome: 'sealed' }
  | LostRenewal
  | { readonly outcome: 'behind'; readonly lastToken: bigint }

/** The renewal of a claim whose token several servers sealed. */
export interface SealedRenewal extends Renewal {
  readonly token?: bigint | undefined
}

/** The answer to an adopter that came late: another claim has adopted the lease, and holds it. */
export interface AdoptedByAnother {
  readonly outcome: 'adopted'
}
