/** The loss of a lease: its grant ends against its holder's will. */
import { LockLostError, type LossReason } from '../../errors.js'
import type { Grant } from '../grant/grant.js'
import type { Withdrawals } from '../release/release-until-answered.js'
import type { Runtime } from '../runtime/runtime.js'

/**
 * Ends a grant for its holder and its queue. The client withdraws the claim in the background. A
 * stolen one it withdraws when the holder lets go.
 */
export function endLost(
  runtime: Runtime,
  withdrawals: Withdrawals,
  grant: Grant,
  reason: LossReason,
  stealReason: string | undefined,
): void {
  const wasAnnounced = grant.state === 'overstayed'
  grant.state = 'lost'
  const { claim } = grant
  if (reason !== 'stolen') withdrawals.inBackground(claim)
  const { store, clock } = runtime
  const durationMs = clock.monotonicMs() - grant.grantedMs
  if (!wasAnnounced) runtime.announce('lost', claim, { reason, durationMs })
  grant.holder?.onLoss(
    new LockLostError(reason, {
      lock: claim.lock,
      store: store.name,
      stealReason,
      ttlMs: grant.askedTtlMs,
    }),
  )
  grant.queue?.onLoss(grant)
}
