/**
 * GET to see that the lock is one's own, then DEL.
 *
 * The trap: it may expire, and be taken, between the two. The damage: the DEL deletes the
 * successor's lock, and a third client comes in beside it. A script compares and deletes in one
 * step.
 */
import type { ControlWorld } from '../contract.js'
import { channelOf, type Claim } from '../lease-lock/parts.js'
import { mutant } from './mutant.js'

export const getThenDel = mutant(
  {
    id: 'get-then-del',
    title: 'GET, then DEL',
    trap: 'Comparing the owner and deleting are two commands.',
    damage: "A DEL that comes late deletes the successor's lock, and a third client comes in.",
    cure: 'Compare and delete in one script.',
    breaks: 'release',
    fault: 'The DEL is delayed past the TTL.',
    caught: {
      perSeed: 0.095,
      directed: 'Hold the DEL back until a second client is in: a third one gets in beside it.',
    },
  },
  () => ({ free }),
)

async function free({ redis }: ControlWorld, { id, lock }: Claim): Promise<boolean> {
  if ((await redis.command('GET', lock)) !== id) return false
  const deleted = await redis.command('DEL', lock)
  await redis.command('PUBLISH', channelOf(lock), id)
  return deleted === 1
}
