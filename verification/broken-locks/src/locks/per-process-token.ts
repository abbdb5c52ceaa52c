/**
 * A fencing token counted in each process.
 *
 * The trap: every process starts at one. The damage: tokens repeat, and the fence cannot tell the
 * stale holder from the rightful one. The counter must be where the lock is.
 */
import { attemptWithToken, mutant } from './mutant.js'

export const perProcessToken = mutant(
  {
    id: 'per-process-token',
    title: 'Per-process token',
    trap: 'Each process counts by itself.',
    damage: 'Two holders have the same token, or the later one the smaller.',
    cure: 'A counter in the store.',
    breaks: 'tokens',
    fault: 'None is needed: two processes hold one after the other.',
    caught: {
      // By a fence alone; a checker that looks for repeated tokens catches it in nearly every run.
      perSeed: 0.08,
      directed: 'Let two clients hold one after the other: both have the token 1.',
    },
  },
  () => {
    let last = 0n
    return { attempt: attemptWithToken(() => (last += 1n)) }
  },
)
