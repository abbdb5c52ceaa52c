/**
 * The good lock: the known-good subject, small but with every layer that a lease lock on one Redis
 * needs.
 *
 * It still is a lock on one Redis. A server that forgets, or whose clock jumps, can let two holders
 * in. Then only the fencing token distinguishes them. Nor does it notice that the machine slept,
 * while the monotonic clock stood still.
 */
import type { Clock } from 'holdfast'
import { jittered, type Moment } from '../ask.js'
import { LeaseLock } from '../lease-lock/lock.js'
import { channelOf, type Answer, type Belief, type Claim, type Parts } from '../lease-lock/parts.js'
import type { ControlLock, ControlSettings, ControlWorld } from '../contract.js'
import { ReplyError, type Reply, type Script } from '../redis-connection.js'
import { FREE, RENEW, TAKE } from '../scripts/good.js'

/**
 * The counter outlives every lease; should it get lost all the same, the server's time stands in.
 */
export const COUNTER_TTL_MS = 24 * 60 * 60 * 1000

export const GOOD: Parts = {
  attempt: (world, claim) => take(world, claim, TAKE),
  renew: async ({ redis }, { id, lock, ttlMs }) =>
    (await redis.script(RENEW, [lock], [id, ttlMs])) === 1,
  free: async ({ redis }, { id, lock, ttlMs }) =>
    (await redis.script(FREE, [lock, tombstoneOf(lock, id)], [id, ttlMs, channelOf(lock)])) === 1,
  believe: ({ base }, ttlMs, clock) => until(base, ttlMs - marginMs(ttlMs), clock),
  patienceMs(remainingMs, world, settings) {
    const floorMs = jittered(settings.retryMs, world)
    // The holder's expiry publishes nothing, so look again right after it.
    return remainingMs < 0 ? floorMs : Math.min(floorMs, remainingMs + 1)
  },
  renewEveryMs: (ttlMs) => ttlMs / 3,
  whenRefused: 'stop',
  whenInDoubt: 'withdraw',
}

export function goodLock(world: ControlWorld, settings: ControlSettings): ControlLock {
  return new LeaseLock(GOOD, world, settings)
}

/** Sends a script that takes the lock, with the good one's keys and arguments. */
export async function take({ redis }: ControlWorld, claim: Claim, script: Script): Promise<Answer> {
  const { id, lock, ttlMs } = claim
  const keys = [lock, counterOf(lock), tombstoneOf(lock, id)]
  return answerOf(await redis.script(script, keys, [id, ttlMs, COUNTER_TTL_MS]))
}

function answerOf(reply: Reply): Answer {
  const [outcome, value = null] = Array.isArray(reply) ? (reply as readonly Reply[]) : [reply]
  if (outcome === 'busy') return { outcome, remainingMs: Number(value) }
  if (outcome === 'withdrawn') return { outcome }
  if (outcome !== 'granted' && outcome !== 'existing')
    throw new ReplyError(`ERR unexpected answer: ${String(outcome)}`)
  return value === null ? { outcome } : { outcome, token: BigInt(String(value)) }
}

/** Belief from a moment on for `ms`, on the monotonic clock. */
export function until(base: Moment, ms: number, clock: Clock): Belief {
  const endMs = base.monotonicMs + ms
  return () => endMs - clock.monotonicMs()
}

/** For clocks that run at different rates, and timers that fire late. */
export function marginMs(ttlMs: number): number {
  return ttlMs * 0.01 + 2
}

export function counterOf(lock: string): string {
  return `${lock}:token`
}

function tombstoneOf(lock: string, id: string): string {
  return `${lock}:gone:${id}`
}
