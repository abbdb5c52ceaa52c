/**
 * V1: SETNX, and DEL when done.
 *
 * The trap: nothing ever expires. The damage: a holder that crashes keeps the lock forever, and
 * all clients wait until an operator deletes the key. V2 gives the key an expiry.
 */
import type { Control } from '../control.js'
import { PlainLock, type Verbs } from '../plain-lock/lock.js'

const VERBS: Verbs = {
  take: async ({ redis }, { lock }) => (await redis.command('SETNX', lock, 1)) === 1,
  free: async ({ redis }, { lock }) => (await redis.command('DEL', lock)) === 1,
}

export const v1Setnx: Control = {
  id: 'v1-setnx',
  rung: 1,
  title: 'SETNX without expiry',
  trap: 'Nothing ends the lock but its holder.',
  damage: 'A holder that crashes keeps the lock forever.',
  cure: 'An expiry (V2).',
  breaks: 'liveness',
  fault: 'The holder is killed.',
  caught: { perSeed: 0.8, directed: 'Kill the holder; long after the TTL no client gets in.' },
  create: (world, settings) => new PlainLock(VERBS, world, settings),
}
