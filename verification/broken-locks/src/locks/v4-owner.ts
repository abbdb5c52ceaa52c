/**
 * V4: the owner's id is in the lock, and a script releases only what is the owner's.
 *
 * The trap: the TTL is a guess, and the holder does not learn when it was wrong. The damage: work
 * that takes longer runs on beside the next holder's. V5 renews the lock while the work runs.
 */
import type { Control } from '../control.js'
import { PlainLock, type Verbs } from '../plain-lock/lock.js'
import { COMPARE_AND_DELETE } from '../scripts/owner.js'

export const OWNER_VERBS: Verbs = {
  take: async ({ redis }, { lock, owner, ttlMs }) =>
    (await redis.command('SET', lock, owner, 'NX', 'PX', ttlMs)) === 'OK',
  free: async ({ redis }, { lock, owner }) =>
    (await redis.script(COMPARE_AND_DELETE, [lock], [owner])) === 1,
}

export const v4Owner: Control = {
  id: 'v4-owner',
  rung: 4,
  title: 'Owner id and Lua release, no renewal',
  trap: 'The TTL is a guess.',
  damage: 'Work that takes longer than the TTL runs beside the next holder.',
  cure: 'Renewal while the work runs, a watchdog (V5).',
  breaks: 'exclusion',
  fault: 'The work takes longer than the TTL.',
  caught: {
    perSeed: 0.99,
    directed: 'Work past the TTL: a second client gets in beside the first.',
  },
  create: (world, settings) => new PlainLock(OWNER_VERBS, world, settings),
}
