/**
 * A deadline counted from when the answer came.
 *
 * The trap: the server started the TTL when it carried the request out, which may be long before.
 * The damage: after a slow answer the holder believes too long by just that delay. The deadline
 * must start before the request left.
 */
import { GOOD } from './good.js'
import { mutant } from './mutant.js'

export const deadlineFromReply = mutant(
  {
    id: 'deadline-from-reply',
    title: 'Deadline from the reply time',
    trap: "The TTL started on the server, not at the answer's arrival.",
    damage: 'The holder believes too long by as much as the answer was slow.',
    cure: 'Count from just before the request left.',
    breaks: 'exclusion',
    fault: 'A slow answer.',
    caught: {
      perSeed: 0.033,
      directed:
        'Delay the answer by 150 ms, with a TTL of 1 s, then cut the holder off: a second client gets in beside it.',
    },
  },
  () => ({
    believe: (timing, ttlMs, clock) =>
      GOOD.believe({ ...timing, base: timing.replied }, ttlMs, clock),
  }),
)
