/**
 * A renewal that does not ask whose lock it renews: a plain PEXPIRE.
 *
 * The trap: any lock under that name will do. The damage: a holder that lost its lock keeps its
 * successor's alive, and learns that all is well. Both believe that they hold it, for as long as
 * they like. The owner must be compared in the renewal's script.
 */
import { mutant, NO_DEADLINE } from './mutant.js'

export const renewalWithoutOwner = mutant(
  {
    id: 'renewal-without-owner',
    title: 'Renewal without owner check',
    trap: 'PEXPIRE renews any lock that is there.',
    damage: "A former holder renews its successor's lock and hears that all is well.",
    cure: 'Compare the owner in the same script.',
    breaks: 'exclusion',
    fault: 'The holder is paused past the TTL.',
    unmasked:
      'The deadline is off as well: it ends a lease before it can renew what has become of another.',
    caught: {
      directed:
        'Pause the holder past the TTL, let a second client in: the first gets the answer that it renewed.',
    },
  },
  () => ({
    ...NO_DEADLINE,
    renew: async ({ redis }, { lock, ttlMs }) =>
      (await redis.command('PEXPIRE', lock, ttlMs)) === 1,
  }),
)
