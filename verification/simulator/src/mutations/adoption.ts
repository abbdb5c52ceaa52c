/** Mutations of exported leases: of the verb that adopts them, and of what the adopter believes. */
import type { Edit, Mutation } from './mutation.js'

const inRule = (find: string, replace: string): Edit => ({
  file: 'store/grant-rule.js',
  find,
  replace,
})

export const ADOPTION_MUTATIONS: readonly Mutation[] = [
  {
    name: 'adopted-claim-stays',
    breaks: 'The claim that was adopted holds no more, so that a second adopter finds it lost',
    edits: [
      inRule('state.holders.delete(from.id);', 'state.heldWeight += heir.weight;'),
      {
        file: 'store/expire-and-promote.js',
        find: 'invariant(state.heldWeight <= state.capacity, ',
        replace: 'invariant(true, ',
      },
    ],
    masked: 'an invariant ends the step before a promise is broken',
    store: 'redis',
  },
  {
    name: 'adopted-claim-granted-again',
    breaks: 'The claim that was adopted is refused from then on',
    edits: [inRule("addTombstone(state, from, 'absent', step);", '')],
    store: 'redis',
  },
  {
    name: 'repeated-adoption-refused',
    breaks: 'An adoption that is repeated returns the same grant',
    edits: [inRule('if (adopted)\n        return grantedTo(adopted, true, step);', '')],
    store: 'redis',
  },
  {
    name: 'adopted-lease-keeps-its-end',
    breaks: 'An adopted lease lasts for a whole TTL',
    edits: [inRule('expiresMs: step.nowMs + to.ttlMs,', '')],
    store: 'redis',
  },
  {
    name: 'adoption-from-reply',
    breaks: 'An adopted lease counts from when the first request left, not from the answer',
    edits: [
      {
        file: 'lease/adopt/export-and-adopt.js',
        find: 'grantOf(result, to, { sentMs, offsetMs }, renews);',
        replace: 'grantOf(result, to, { sentMs: runtime.clock.monotonicMs(), offsetMs }, renews);',
      },
    ],
    store: 'redis',
  },
  {
    name: 'dead-adoption-handed-out',
    breaks: 'An adopted lease that ended on the way is never handed out',
    edits: [
      {
        file: 'lease/adopt/export-and-adopt.js',
        find: 'if (grant.isAlive(nowMs, runtime.clockOffsetMs(nowMs)))',
        replace: 'if (true)',
      },
    ],
    store: 'redis',
  },
]
