/**
 * Hand-off: the leases that callers of one process have under one grant, one after the other,
 * without a call to the store. Each has a token of its own, from the block that the grant reserved.
 */
import { rejectForCallers } from '../../async/caller-frames.js'
import { invariant } from '../../invariant.js'
import { channels } from '../runtime/events.js'
import type { Grant } from '../grant/grant.js'
import { HeldLease } from '../hold/held-lease.js'
import type { GrantReturner } from '../release/grant-returner.js'
import { leaveTaken } from '../release/stay-taken.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import type { CallerWait } from '../wait/caller-wait.js'
import type { ReleaseListener, ReleaseOutcome } from '../release/release-until-answered.js'

/** A grant may pass this often, and for this long, before the store's queue has its turn. */
export const HAND_OFFS_IN_A_ROW = 32
export const HAND_OFFS_FOR_MS = 10

/** Whether the next caller of this process may have the grant as it is. */
export function canHandOff(runtime: Runtime, grant: Grant, nowMs: number): boolean {
  return (
    grant.renewing === 'regular' &&
    grant.storeOnly === undefined &&
    grant.claim.owner.waitsFor === undefined &&
    grant.weight === grant.claim.capacity &&
    grant.handOffs + 1 < grant.tokens &&
    grant.handOffs < HAND_OFFS_IN_A_ROW &&
    nowMs - grant.grantedMs < HAND_OFFS_FOR_MS &&
    grant.deadlineMs - nowMs > grant.ttlMs / 2 &&
    grant.isAlive(nowMs, runtime.clockOffsetMs(nowMs))
  )
}

/** Serves the next caller under the same grant, with the next token of its block. */
export function handOff(
  services: Services,
  grant: Grant,
  wait: CallerWait<HeldLease>,
  returner: GrantReturner,
  nowMs: number,
): void {
  grant.handOffs += 1
  invariant(grant.handOffs < grant.tokens, 'each lease has a token of its own', grant.claim.lock)
  grant.token += 1n
  const lease = new HeldLease(services, grant, nowMs, wait.maxHoldMs, returner)
  if (channels['handed-off'].hasSubscribers) {
    const handed = { token: lease.token, durationMs: nowMs - wait.startedMs }
    services.runtime.announce('handed-off', grant.claim, handed)
  }
  wait.serve(lease)
}

/** Releases a grant in the store. See `GrantReturner.returnGrant`. */
export function releaseGrant(
  services: Services,
  grant: Grant,
  nowMs: number,
  listener?: ReleaseListener,
): ReleaseOutcome {
  invariant(grant.isOpen, 'a grant is released once', grant.claim.lock)
  grant.state = 'released'
  services.renewals.remove(grant)
  if (nowMs < grant.keptUntilMs) {
    return leaveTaken(services.runtime, grant, nowMs, listener).catch(rejectForCallers)
  }
  const outcome = services.withdrawals.release(grant.claim, grant.deadlineMs, nowMs, listener)
  services.pauses?.noteReleased(grant.claim.lock, outcome, nowMs - grant.grantedMs)
  return outcome
}
