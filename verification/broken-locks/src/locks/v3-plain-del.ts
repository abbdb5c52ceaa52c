/**
 * V3: SET NX EX, and a plain DEL.
 *
 * The trap: DEL does not ask whose lock it deletes. The damage: a holder that took longer than the
 * TTL deletes its successor's lock, and a third one comes in beside that. V4 writes the owner into
 * the lock and compares.
 */
import type { Control } from '../control.js'
import { PlainLock, type Verbs } from '../plain-lock/lock.js'

const VERBS: Verbs = {
  take: async ({ redis }, { lock, ttlMs }) =>
    (await redis.command('SET', lock, 1, 'NX', 'EX', Math.ceil(ttlMs / 1000))) === 'OK',
  free: async ({ redis }, { lock }) => (await redis.command('DEL', lock)) === 1,
}

export const v3PlainDel: Control = {
  id: 'v3-plain-del',
  rung: 3,
  title: 'SET NX EX with a plain DEL',
  trap: 'DEL deletes any lock that is there.',
  damage: "A late holder deletes its successor's lock, and a third client comes in.",
  cure: 'An owner in the lock, compared and deleted in one script (V4).',
  breaks: 'release',
  fault: 'The holder is paused, or works, longer than the TTL.',
  caught: {
    perSeed: 0.5,
    directed:
      'Work past the TTL, let a second client in, release: a third one gets in beside the second.',
  },
  create: (world, settings) => new PlainLock(VERBS, world, settings),
}
