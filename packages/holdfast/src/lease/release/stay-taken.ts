/** A lock that stays taken after its release, until its TTL ends it: `run(fn, { atLeastMs })`. */
import { pendingCall } from '../../async/keep-alive.js'
import type { Grant } from '../grant/grant.js'
import type { Runtime } from '../runtime/runtime.js'
import type { ReleaseListener } from './release-until-answered.js'

/**
 * Leaves the lock taken until `grant.keptUntilMs`: shortens the TTL to what is left.
 * @throws StoreUnavailableError when the outcome is unknown: the lock stays taken for its old TTL.
 */
export async function leaveTaken(
  { store }: Runtime,
  { claim, keptUntilMs }: Grant,
  nowMs: number,
  listener?: ReleaseListener,
): Promise<'released' | 'lost'> {
  const ttlMs = Math.max(store.traits.ttlRangeMs[0], Math.ceil(keptUntilMs - nowMs))
  const renewed = Promise.resolve(store.renew([{ ...claim, ttlMs, isLast: true }]))
  const [result] = await pendingCall(renewed)
  if (result?.outcome === 'unknown') throw result.cause
  const outcome = result?.outcome === 'renewed' ? 'released' : 'lost'
  listener?.onReleased(outcome)
  return outcome
}
