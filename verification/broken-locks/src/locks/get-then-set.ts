/**
 * GET to see that the lock is free, then SET.
 *
 * The trap: between the two another client may do the same. The damage: both believe, at once and
 * with no fault at all. SET NX, or a script, looks and takes in one step.
 */
import type { ControlWorld } from '../contract.js'
import type { Answer, Claim } from '../lease-lock/parts.js'
import { NEXT_TOKEN } from '../scripts/token.js'
import { COUNTER_TTL_MS, counterOf } from './good.js'
import { mutant } from './mutant.js'

export const getThenSet = mutant(
  {
    id: 'get-then-set',
    title: 'GET, then SET',
    trap: 'Looking and taking are two commands.',
    damage: 'Two clients that look at the same moment both get in.',
    cure: 'SET NX, or one script.',
    breaks: 'exclusion',
    fault: 'None is needed: two clients ask at the same moment.',
    caught: {
      perSeed: 0.99,
      directed: 'Let two clients look before either of them takes: both get in.',
    },
  },
  () => ({ attempt }),
)

async function attempt({ redis }: ControlWorld, { id, lock, ttlMs }: Claim): Promise<Answer> {
  const owner = await redis.command('GET', lock)
  if (owner !== null && owner !== id) {
    return { outcome: 'busy', remainingMs: Number(await redis.command('PTTL', lock)) }
  }
  if (owner === null) await redis.command('SET', lock, id, 'PX', ttlMs)
  // The fence is not what is broken here: the token still comes from one atomic script.
  const token = BigInt(String(await redis.script(NEXT_TOKEN, [counterOf(lock)], [COUNTER_TTL_MS])))
  return { outcome: owner === null ? 'granted' : 'existing', token }
}
