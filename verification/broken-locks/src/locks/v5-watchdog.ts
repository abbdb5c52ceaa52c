/**
 * V5: V4 with a watchdog that renews the lock every third of its TTL.
 *
 * The first trap: an owner that wants the lock again, in a function called under it, waits for
 * itself. The damage: a deadlock that the watchdog keeps alive. V6 counts how often the owner holds
 * the lock. The second trap, which V6 shares: a paused process renews nothing, and on waking
 * believes until its watchdog hears otherwise. A deadline on the local clock cures that.
 */
import type { Control } from '../control.js'
import { PlainLock, type Verbs } from '../plain-lock/lock.js'
import { RENEW } from '../scripts/good.js'
import { OWNER_VERBS } from './v4-owner.js'

const VERBS: Verbs = {
  ...OWNER_VERBS,
  renew: async ({ redis }, { lock, owner, ttlMs }) =>
    (await redis.script(RENEW, [lock], [owner, ttlMs])) === 1,
}

export const v5Watchdog: Control = {
  id: 'v5-watchdog',
  rung: 5,
  title: 'Renewal, but no re-entrancy',
  trap: 'The owner is not recognised when it comes again.',
  damage: 'A nested call waits for its own caller, and the watchdog keeps that deadlock alive.',
  cure: 'A hold count (V6); a deadline against pauses (the good lock).',
  breaks: 'liveness',
  fault:
    'None is needed: a nested call. A pause past the TTL also gives two believers, as it does with V6.',
  caught: { perSeed: 0.73, directed: 'Acquire twice with one handle: the second never comes in.' },
  create: (world, settings) => new PlainLock(VERBS, world, settings),
}
