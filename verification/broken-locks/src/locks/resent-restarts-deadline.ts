/**
 * An attempt that is sent again, and counts its deadline from then.
 *
 * The trap: the answer to the second request reports the grant that the first one brought. The
 * damage: the holder believes too long by the time between the two. A message that reports an
 * existing grant never restarts the clock.
 */
import { GOOD } from './good.js'
import { mutant } from './mutant.js'

export const resentRestartsDeadline = mutant(
  {
    id: 'resent-restarts-deadline',
    title: 'A resent attempt restarts the deadline',
    trap: 'The answer to the second request reports the grant of the first.',
    damage: 'The holder believes too long by the time between the two.',
    cure: 'Count from the first request that may have been granted.',
    breaks: 'exclusion',
    fault: 'The answer to an attempt is lost, and the attempt is sent again.',
    caught: {
      directed:
        'Drop the answer to the first attempt, cut the holder off after the second: a second client gets in beside it.',
    },
  },
  () => ({
    believe: (timing, ttlMs, clock) => GOOD.believe({ ...timing, base: timing.sent }, ttlMs, clock),
  }),
)
