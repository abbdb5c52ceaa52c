/** What Redlock needs of each node: a store of its own, that can also take a vote back. */
import type { ClaimRef, Store } from '../../store/contract.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import type { Clock, Random } from '../../clock/clock.js'
import type { PendingWithdrawals } from './pending-withdrawals.js'
import { majorityOf } from './quorum.js'

export interface Voter extends Store {
  /** Ends what the claim holds, and leaves it free to be attempted again. */
  retract(claim: ClaimRef): MaybePromise<void>
}

export interface Node {
  readonly store: Voter
  readonly withdrawals: PendingWithdrawals
}

/** All nodes, and the circumstances in which they are asked. */
export interface Panel {
  readonly nodes: readonly Node[]
  readonly clock: Clock
  readonly random: Random
  /** How long a node may take to answer before the others decide without it, in milliseconds. */
  readonly nodeTimeoutMs: number
}

export function quorumOf({ nodes }: Panel): number {
  return majorityOf(nodes.length)
}
