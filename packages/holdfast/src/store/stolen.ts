/** What a claim is answered that a steal has ended. */
import type { LostRenewal, Withdrawn } from './contract.js'

/** Returns the answer to its renewal. */
export function stolenLoss(stealReason: string | undefined): LostRenewal {
  return { outcome: 'lost', reason: 'stolen', ...reasonOf(stealReason) }
}

/** Returns the answer to its attempt. */
export function stolenWithdrawal(stealReason: string | undefined): Withdrawn {
  return { outcome: 'withdrawn', stolen: true, ...reasonOf(stealReason) }
}

/** An empty reason is none. */
function reasonOf(stealReason: string | undefined): { readonly stealReason?: string } {
  return stealReason === undefined || stealReason === '' ? {} : { stealReason }
}
