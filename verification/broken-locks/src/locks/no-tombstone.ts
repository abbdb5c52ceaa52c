/**
 * A withdraw that leaves no trace.
 *
 * The trap: messages can overtake one another, by a retry, a redirect or an offline queue. The
 * damage: the attempt arrives after its own withdraw, is granted, and a ghost holds the lock for a
 * whole TTL. The withdraw must leave a tombstone.
 */
import { TAKE_WITHOUT_TOMBSTONE } from '../scripts/mutants.js'
import { take } from './good.js'
import { mutant } from './mutant.js'

export const noTombstone = mutant(
  {
    id: 'no-tombstone',
    title: 'Attempt after its own withdraw',
    trap: 'A withdraw can overtake its attempt.',
    damage: 'The late attempt is granted, and a ghost holds the lock for a whole TTL.',
    cure: "A tombstone for the claim's id.",
    breaks: 'repeats',
    fault: 'The attempt is delayed, and its caller gives up meanwhile.',
    caught: {
      directed:
        'Hold the attempt back until its withdraw is done, with a TTL of 10 s: the next acquire takes longer than 1 s.',
    },
  },
  () => ({ attempt: (world, claim) => take(world, claim, TAKE_WITHOUT_TOMBSTONE) }),
)
