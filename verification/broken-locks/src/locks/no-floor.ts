/**
 * Waiting for a message, and for nothing else.
 *
 * The trap: publish/subscribe delivers at most once, and an expiry publishes nothing at all. The
 * damage: a waiter whose wake-up got lost, or whose holder died, waits forever though the lock is
 * free. It must also look by itself now and then.
 */
import { mutant } from './mutant.js'

export const noFloor = mutant(
  {
    id: 'no-floor',
    title: 'Pub/sub without a floor',
    trap: 'A message may get lost, and an expiry sends none.',
    damage: 'A waiter waits forever for a lock that is free.',
    cure: "Look again at the holder's expiry, and now and then in any case.",
    breaks: 'liveness',
    fault: 'The holder is killed, or the message is lost.',
    caught: {
      perSeed: 0.73,
      directed: 'Lose the message of a release: the waiter never comes in.',
    },
  },
  () => ({ patienceMs: () => Infinity }),
)
