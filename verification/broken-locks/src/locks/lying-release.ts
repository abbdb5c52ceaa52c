/**
 * A release that always says "released".
 *
 * The trap: the holder ignores the answer. The damage: work whose lock was lost half-way counts as
 * done under the lock. The answer must be what the server found.
 */
import { GOOD } from './good.js'
import { mutant } from './mutant.js'

export const lyingRelease = mutant(
  {
    id: 'lying-release',
    title: 'Lying release',
    trap: "The holder ignores the release's answer.",
    damage: 'Work whose lock was lost half-way counts as done under it.',
    cure: 'Answer what the server found: released or lost.',
    breaks: 'release',
    fault: 'The server forgets the lock before the release.',
    caught: {
      perSeed: 0.5,
      directed: 'Restart the server without its data, then release: "released", it says.',
    },
  },
  () => ({
    async free(world, claim) {
      await GOOD.free(world, claim)
      return true
    },
  }),
)
