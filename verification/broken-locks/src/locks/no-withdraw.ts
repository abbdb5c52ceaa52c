/**
 * An attempt that is given up, and not taken back.
 *
 * The trap: no answer is not a refusal. The damage: the server granted it, no client knows, and
 * all wait out a TTL for a ghost. A claim in doubt must be withdrawn.
 */
import { mutant } from './mutant.js'

export const noWithdraw = mutant(
  {
    id: 'no-withdraw',
    title: 'No withdraw after a timeout',
    trap: 'No answer is taken for a refusal.',
    damage: 'A ghost holds the lock for a whole TTL.',
    cure: 'Withdraw every claim in doubt.',
    breaks: 'repeats',
    fault: 'The answer to an attempt is lost, and the caller gives up.',
    caught: {
      directed:
        'Drop the answer to an attempt, with a TTL of 10 s, and abort it: the next acquire takes longer than 1 s.',
    },
  },
  () => ({ whenInDoubt: 'forget' }),
)
