/**
 * A deadline without a margin.
 *
 * The trap: no two clocks run at the same rate. The damage: where the holder's runs slower than the
 * server's, the lock expires before the holder stops to believe, by the drift of a TTL. A margin of
 * a hundredth covers any real clock.
 */
import { until } from './good.js'
import { mutant } from './mutant.js'

export const noDriftMargin = mutant(
  {
    id: 'no-drift-margin',
    title: 'No drift margin',
    trap: 'Clocks run at different rates.',
    damage: 'A holder with a slow clock believes a little too long, every time.',
    cure: 'Take a margin off the TTL: 1% and 2 ms.',
    breaks: 'exclusion',
    fault: "The server's clock runs faster than the holder's.",
    caught: {
      directed:
        "Let the server's clock run 0.5% fast, with a TTL of 10 s, and cut the holder off: a second client gets in beside it.",
    },
  },
  () => ({ believe: ({ base }, ttlMs, clock) => until(base, ttlMs, clock) }),
)
