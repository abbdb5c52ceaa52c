/**
 * A lease that is neither renewed nor ever in doubt.
 *
 * The trap: the TTL runs out on the server alone. The damage: work that takes longer runs on beside
 * the next holder. A watchdog makes that rare, only a deadline on the holder's own clock makes it
 * known in time.
 */
import { mutant, NO_DEADLINE } from './mutant.js'

export const noWatchdogNoDeadline = mutant(
  {
    id: 'no-watchdog-no-deadline',
    title: 'No watchdog and no deadline',
    trap: 'The TTL runs out on the server alone.',
    damage: 'Work that takes longer runs beside the next holder.',
    cure: 'A watchdog, and a deadline on the local clock.',
    breaks: 'exclusion',
    fault: 'The work takes longer than the TTL.',
    caught: {
      perSeed: 0.99,
      directed: 'Work past the TTL: a second client gets in beside the first.',
    },
  },
  () => ({ ...NO_DEADLINE, renewEveryMs: () => Infinity }),
)
