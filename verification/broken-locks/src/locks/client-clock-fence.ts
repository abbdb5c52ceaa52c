/**
 * A fencing token from the client's own clock.
 *
 * The trap: clocks differ, and jump. The damage: a client whose clock is behind gets a smaller
 * token than its predecessor. So the fence refuses the rightful holder and lets the stale one in.
 * The token must come from the store.
 */
import { attemptWithToken, mutant } from './mutant.js'

export const clientClockFence = mutant(
  {
    id: 'client-clock-fence',
    title: 'Client-clock fence',
    trap: 'Every machine has a time of its own.',
    damage: 'The next holder gets a smaller token, and the fence refuses it.',
    cure: 'A token from the store.',
    breaks: 'tokens',
    fault: "The clients' wall clocks differ.",
    caught: {
      perSeed: 0.48,
      directed:
        'Let a client whose clock is a minute behind hold after another: its token is smaller.',
    },
  },
  () => ({ attempt: attemptWithToken(({ clock }) => BigInt(Math.floor(clock.wallMs()))) }),
)
