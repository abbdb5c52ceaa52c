/**
 * A watchdog that continues when it learns that the lock is another's.
 *
 * The trap: the answer to a renewal is thrown away. The damage: the holder works on beside the next
 * one, and never learns of it. A refused renewal must end the lease and tell the work.
 */
import { mutant, NO_DEADLINE } from './mutant.js'

export const renewalIgnoresLoss = mutant(
  {
    id: 'renewal-ignores-loss',
    title: 'Renewal that ignores loss',
    trap: "The holder ignores the renewal's answer.",
    damage: 'The holder works on beside the next one, and never learns of it.',
    cure: 'A refused renewal ends the lease.',
    breaks: 'exclusion',
    fault: 'The holder is paused past the TTL, or the server forgets the lock.',
    unmasked:
      'The deadline is off as well: after a pause it would end the lease before any renewal is asked for.',
    caught: {
      perSeed: 0.5,
      directed:
        'Pause the holder past the TTL, let a second client in: the first believes on after its renewals.',
    },
  },
  () => ({ ...NO_DEADLINE, whenRefused: 'go on' }),
)
