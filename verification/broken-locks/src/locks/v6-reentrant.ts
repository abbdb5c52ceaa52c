/**
 * V6: a hash with the owner's hold count, and a watchdog: what Redisson does.
 *
 * The first trap: entering is counted, not named. The damage: a request that arrives twice counts
 * twice, because its answer got lost or a connection was replaced. One release then does not free
 * the lock. An id for each attempt cures it. The second trap: no deadline and no fencing token. The
 * damage: a holder that was paused past its TTL, or whose lock a failover lost, works beside the
 * next one. Nothing stops its writes. A deadline and a fence cure it (the good lock).
 */
import type { Control } from '../control.js'
import { PlainLock, type Verbs } from '../plain-lock/lock.js'
import { ENTER, LEAVE, RENEW_HASH } from '../scripts/reentrant.js'

const VERBS: Verbs = {
  take: async ({ redis }, { lock, owner, ttlMs }) =>
    (await redis.script(ENTER, [lock], [owner, ttlMs])) === 1,
  free: async ({ redis }, { lock, owner, ttlMs }) =>
    (await redis.script(LEAVE, [lock], [owner, ttlMs])) === 1,
  renew: async ({ redis }, { lock, owner, ttlMs }) =>
    (await redis.script(RENEW_HASH, [lock], [owner, ttlMs])) === 1,
}

export const v6Reentrant: Control = {
  id: 'v6-reentrant',
  rung: 6,
  title: 'Hash with a hold count and a watchdog',
  trap: 'Entering is counted, not named; and the holder knows neither a deadline nor a token.',
  damage:
    'A request that arrives twice is held twice. After a pause or a failover two work at once, unfenced.',
  cure: 'An id for each attempt, a deadline on the local clock, and a fencing token (the good lock).',
  breaks: 'repeats',
  fault: 'The network delivers a request twice; the holder is paused past the TTL.',
  caught: {
    perSeed: 0.73,
    directed:
      'Deliver the acquire twice and release once: the lock stays locked, though the answer was "released".',
  },
  create: (world, settings) => new PlainLock(VERBS, world, settings),
}
