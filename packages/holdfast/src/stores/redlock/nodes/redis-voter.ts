/** A Redis server that votes: a Redis store, with the requests that only Redlock sends. */
import type { Adoption, ClaimRef, RenewalListener, RenewResult } from '../../../store/contract.js'
import { readSeal } from '../../redis/wire/answers.js'
import { inDoubt } from '../../redis/errors.js'
import type { SealedRenewal, SealResult } from '../../redis/wire/redlock-seal.js'
import { RedisStore } from '../../redis/store.js'
import { NO_TERMS } from '../../redis/wire/terms-encoder.js'
import type { VoteAdoption, Voter } from './node.js'

export class RedisVoter extends RedisStore implements Voter {
  override renew(
    renewals: readonly SealedRenewal[],
    report?: RenewalListener,
  ): Promise<readonly RenewResult[]> {
    return this.requests.renew(renewals, report)
  }

  /**
   * Takes a vote back: the claim does not hold the lock any more, and may be attempted again. Only
   * for a claim without attempts in flight, since nothing refuses one that comes late.
   * Rejects where one of them may still come, or this request itself, which would undo a later
   * vote: such a claim has to be withdrawn.
   */
  async retract(claim: ClaimRef): Promise<void> {
    const { deployment, lateRequests } = this.requests
    if (lateRequests.inDoubt.has(claim.id)) throw inDoubt(claim.lock)
    const { breaks } = deployment
    try {
      await this.requests.ask('t', claim, NO_TERMS, String)
    } catch (error) {
      // The withdrawal that follows has to refuse the claim for as long as this request may arrive.
      lateRequests.add(claim)
      throw error
    }
    if (deployment.breaks === breaks) return
    lateRequests.add(claim)
    throw inDoubt(claim.lock)
  }

  /**
   * Gives a claim that holds the lock here a token that its client chose among the votes of several
   * servers. May be repeated, and may arrive late: it never makes a grant.
   */
  seal(claim: ClaimRef, token: bigint): Promise<SealResult> {
    return this.requests.ask('s', claim, this.requests.encoder.seal(token), readSeal)
  }

  /** Adopts, and reports a loss to another adopter as such. */
  adoptVote(adoption: Adoption): Promise<VoteAdoption> {
    // The request that exports the lease may still be on its way to this server. A withdrawal of
    // the exported claim has to refuse it.
    this.requests.lateRequests.add(adoption.from)
    return this.requests.adopt(adoption)
  }
}
