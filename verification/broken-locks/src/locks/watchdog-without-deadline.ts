/**
 * A watchdog, and no deadline.
 *
 * The trap: the holder relies on the server's answer. The damage: a holder that is paused or cut
 * off gets no answer and believes beside the next holder until its next renewal is answered. A
 * deadline on the local clock needs no server.
 */
import { mutant, NO_DEADLINE } from './mutant.js'

export const watchdogWithoutDeadline = mutant(
  {
    id: 'watchdog-without-deadline',
    title: 'Watchdog without deadline',
    trap: 'The holder believes until the server answers otherwise.',
    damage:
      'A holder that is cut off believes beside the next one for as long as the partition lasts.',
    cure: 'A deadline on the local clock, looked at without asking the server.',
    breaks: 'exclusion',
    fault: 'The holder is cut off from the server, or paused past the TTL.',
    caught: {
      perSeed: 0.73,
      directed: 'Cut the holder off past the TTL: a second client gets in beside it.',
    },
  },
  () => NO_DEADLINE,
)
