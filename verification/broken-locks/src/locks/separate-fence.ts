/**
 * A fencing token from an INCR of its own, after the grant.
 *
 * The trap: between grant and INCR the lock may pass to another, and a plain counter starts again
 * when the server forgets it. The damage: the stale holder has the larger token, the fence lets it
 * in and keeps the rightful one out. The token must be made in the step that grants, with the
 * server's time as its floor.
 */
import type { ControlWorld } from '../contract.js'
import type { Answer, Claim } from '../lease-lock/parts.js'
import { TAKE_WITHOUT_TOKEN } from '../scripts/mutants.js'
import { take } from './good.js'
import { mutant, NO_DEADLINE } from './mutant.js'

export const separateFence = mutant(
  {
    id: 'separate-fence',
    title: 'Fence by a separate INCR',
    trap: 'Grant and token are two commands, and a counter can be forgotten.',
    damage:
      'A stale holder gets the larger token: the fence lets it in and keeps the rightful holder out.',
    cure: "Make the token in the granting script, at least the server's time.",
    breaks: 'tokens',
    fault: 'The INCR is delayed past the TTL; the server restarts without its data.',
    unmasked: 'The deadline is off as well: it refuses a grant whose token came too late.',
    caught: {
      perSeed: 0.7,
      directed:
        "Hold the first client's INCR back until a second is in: the first has the larger token.",
    },
  },
  () => ({ ...NO_DEADLINE, attempt }),
)

async function attempt(world: ControlWorld, claim: Claim): Promise<Answer> {
  const answer = await take(world, claim, TAKE_WITHOUT_TOKEN)
  if (answer.outcome !== 'granted' && answer.outcome !== 'existing') return answer
  return {
    ...answer,
    token: BigInt(String(await world.redis.command('INCR', `${claim.lock}:fence`))),
  }
}
