/** What Redlock needs of each node: a Redis store of its own, with a few more requests. */
import type { Clock, Random } from '../../../clock/clock.js'
import type { RequestTimeouts } from '../../../clock/request-timeouts.js'
import type {
  Adoption,
  AdoptResult,
  ClaimRef,
  RenewalListener,
  RenewResult,
  Store,
} from '../../../store/contract.js'
import type { MaybePromise } from '../../../store/maybe-promise.js'
import type { AdoptedByAnother, SealedRenewal, SealResult } from '../../redis/wire/redlock-seal.js'
import type { OpenRequests } from './open-requests.js'
import type { PendingWithdrawals } from './pending-withdrawals.js'
import { majorityOf } from './quorum.js'

export interface Voter extends Store {
  /** Renewals carry the tokens that a majority sealed, to nodes that missed the seal. */
  renew(
    renewals: readonly SealedRenewal[],
    report?: RenewalListener,
  ): MaybePromise<readonly RenewResult[]>
  /** Ends the claim's hold. The claim may be attempted again. */
  retract(claim: ClaimRef): MaybePromise<void>
  /** Gives the claim a token, if no other claim has or had it here. */
  seal(claim: ClaimRef, token: bigint): MaybePromise<SealResult>
  /** Lets a claim have the vote of another one here. */
  adoptVote(adoption: Adoption): MaybePromise<VoteAdoption>
}

export type VoteAdoption = AdoptResult | AdoptedByAnother

export interface Node {
  readonly store: Voter
  readonly withdrawals: PendingWithdrawals
  /** The votes and withdrawals that the client has asked of the node. */
  readonly requests: OpenRequests
}

/** All nodes, and the circumstances in which the client asks them. */
export interface Panel {
  readonly nodes: readonly Node[]
  readonly clock: Clock
  readonly random: Random
  /** How long a node may take to answer before the others decide without it, in milliseconds. */
  readonly nodeTimeoutMs: number
  /** Ends waits of `nodeTimeoutMs`, with one timer for all of them. */
  readonly timeouts: RequestTimeouts
  /** How far apart the clocks of the nodes that make a majority may be, in milliseconds. */
  readonly maxClockDifferenceMs: number
}

export function quorumOf({ nodes }: Panel): number {
  return majorityOf(nodes.length)
}
