/**
 * V2: SETNX, then EXPIRE.
 *
 * The trap: two commands, and a process can die between them, or the second can get lost. The
 * damage: as with V1, a key without expiry that no client deletes. V3 sets both in one command.
 */
import type { Control } from '../control.js'
import { PlainLock, type Verbs } from '../plain-lock/lock.js'

const VERBS: Verbs = {
  async take({ redis }, { lock, ttlMs }) {
    if ((await redis.command('SETNX', lock, 1)) !== 1) return false
    await redis.command('EXPIRE', lock, Math.ceil(ttlMs / 1000))
    return true
  },
  free: async ({ redis }, { lock }) => (await redis.command('DEL', lock)) === 1,
}

export const v2SetnxExpire: Control = {
  id: 'v2-setnx-expire',
  rung: 2,
  title: 'SETNX, then EXPIRE',
  trap: 'The lock and its expiry are two commands.',
  damage: 'A crash between the two leaves a lock that never expires.',
  cure: 'SET NX EX, one command (V3).',
  breaks: 'liveness',
  fault: 'The holder is killed, or its connection breaks, between the two commands.',
  caught: {
    perSeed: 0.35,
    directed: 'Kill the client before its EXPIRE; long after the TTL no client gets in.',
  },
  create: (world, settings) => new PlainLock(VERBS, world, settings),
}
