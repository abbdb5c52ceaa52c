/**
 * Handing a grant on: the leases that callers of one process have under it, one after the other,
 * without a call to the store. Each has a token of its own, out of the block that the grant
 * reserved.
 */
import type { Client } from './client.js'
import { isWatched, publish } from './events.js'
import type { Grant } from './grant.js'
import { HeldLease, type Releaser } from './lease.js'
import type { Wait } from './wait.js'

/** A grant may pass so often, or for so long, before the store has its turn. */
export const HAND_OFFS_IN_A_ROW = 32
export const HAND_OFFS_FOR_MS = 10

/**
 * Whether the next of the process may have the grant as it is: its time must be good for more than
 * a moment.
 */
export function canHandOff(grant: Grant, nowMs: number): boolean {
  return (
    grant.renews &&
    // The next holder is not whom the store would show.
    !grant.described &&
    !grant.commitPending &&
    grant.weight === grant.claim.capacity &&
    grant.handOffs + 1 < grant.tokens &&
    grant.handOffs < HAND_OFFS_IN_A_ROW &&
    nowMs - grant.grantedMs < HAND_OFFS_FOR_MS &&
    grant.deadlineMs - nowMs > grant.ttlMs / 2 &&
    grant.isAlive(nowMs)
  )
}

export function handOff(
  client: Client,
  grant: Grant,
  wait: Wait,
  from: Releaser,
  nowMs: number,
): void {
  grant.handOffs += 1
  const lease = leaseOn(client, grant, from, nowMs, wait.maxHoldMs)
  if (isWatched('handed-off')) {
    publish('handed-off', () => ({
      ...client.event(grant.claim),
      token: lease.token,
      durationMs: nowMs - wait.startedMs,
    }))
  }
  wait.serve(lease)
}

export function leaseOn(
  client: Client,
  grant: Grant,
  from: Releaser,
  nowMs: number,
  maxHoldMs: number,
): HeldLease {
  const token = grant.token === undefined ? undefined : grant.token + BigInt(grant.handOffs)
  return new HeldLease(client, grant, token, nowMs, maxHoldMs, from)
}
