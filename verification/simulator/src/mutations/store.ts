/** Mutations of the grant rule, which every store runs in one form or another. */
import type { Edit, Mutation } from './mutation.js'

const inStore = (file: string, find: string, replace: string): Edit => ({
  file: `store/${file}`,
  find,
  replace,
})

const inRule = (find: string, replace: string): Edit => inStore('grant-rule.js', find, replace)
const inSteps = (find: string, replace: string): Edit =>
  inStore('expire-and-promote.js', find, replace)

const withoutInvariant = (condition: string): Edit => inSteps(`(${condition}, `, '(true, ')

export const STORE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'capacity-ignored',
    breaks: 'A claim is granted when the weights fit the capacity',
    edits: [
      inRule(
        'state.waiters.size === 0 && state.heldWeight + claim.weight <= state.capacity',
        'state.waiters.size === 0 && state.heldWeight < state.capacity + claim.weight',
      ),
      withoutInvariant('state.heldWeight <= state.capacity'),
    ],
    masked: 'an invariant ends the step before a promise is broken',
  },
  {
    name: 'queue-overtaken',
    breaks: 'Nothing overtakes a claim that waits',
    edits: [
      inRule(
        'state.waiters.size === 0 && state.heldWeight + claim.weight',
        'state.heldWeight + claim.weight',
      ),
    ],
  },
  {
    name: 'lease-expires-early',
    breaks: 'The store keeps a grant for the whole of its TTL',
    edits: [inSteps('expiresMs: step.nowMs + ttlMs,', 'expiresMs: step.nowMs + ttlMs * 0.9,')],
  },
  {
    name: 'renewal-without-owner',
    breaks: 'A renewal extends only the lease of its own claim',
    edits: [
      inRule(
        'const holder = state.holders.get(renewal.id);\n    if (!holder)\n        return lossOf(state, renewal.id, step);',
        'const holder = state.holders.get(renewal.id) ?? [...state.holders.values()][0];\n    if (!holder)\n        return lossOf(state, renewal.id, step);',
      ),
    ],
    scenario: 'sleeping-holder',
  },
  {
    name: 'withdraw-without-owner',
    breaks: 'Only the owner releases',
    edits: [
      inRule(
        'const holder = state.holders.get(claim.id);\n    if (holder) {\n',
        'const holder = state.holders.get(claim.id) ?? [...state.holders.values()][0];\n    if (holder) {\n',
      ),
    ],
  },
  {
    name: 'no-tombstone',
    breaks: 'An attempt that arrives after its own withdraw is refused',
    edits: [
      inStore(
        'tombstones.js',
        'return tombstone !== undefined && tombstone.untilMs > step.nowMs;',
        'return false;',
      ),
    ],
  },
  {
    name: 'tombstone-not-renewed',
    breaks:
      'A withdraw refuses late attempts for a whole TTL, also when an older end of the claim is remembered',
    edits: [
      inRule(
        "const outcome = state.tombstones.get(claim.id)?.outcome ?? 'absent';",
        "const outcome = state.tombstones.get(claim.id)?.outcome ?? 'absent';\n    if (state.tombstones.has(claim.id))\n        return outcome;",
      ),
    ],
    scenario: 'late-withdraw',
  },
  {
    name: 'resent-attempt-restarts',
    breaks: 'The same claim sent twice gives the same lease, and does not restart its clock',
    edits: [
      inRule('return grantedTo(holder, true, step);', 'return grantedTo(holder, false, step);'),
    ],
  },
  {
    name: 'token-block-forgotten',
    breaks: 'Tokens that a grant reserved are given to no other claim',
    edits: [inSteps('state.lastToken = token + tokens - 1;', 'state.lastToken = token;')],
  },
  {
    name: 'token-stands-still',
    breaks: 'Every grant has a token larger than each earlier one',
    edits: [
      inStore(
        'next-token.js',
        'Math.max(state.lastToken + 1, step.tokenFloor)',
        'Math.max(state.lastToken, step.tokenFloor - 1)',
      ),
      inStore('next-token.js', '(token > state.lastToken, ', '(true, '),
    ],
    masked: 'an invariant ends the step before a promise is broken',
  },
  {
    name: 'dead-waiter-stays',
    breaks: 'A dead waiter does not block the queue for longer than its heartbeats',
    edits: [inSteps('if (waiter.seenMs + livesMs <= step.nowMs) {', 'if (false) {')],
    scenario: 'dead-waiters',
  },
  {
    name: 'stolen-lease-renewed',
    breaks: 'The renewals of a stolen lease are refused',
    edits: [
      inRule(
        'if (holder.stolen)\n        return (0, stolen_js_1.stolenLoss)(holder.stealReason);\n    holder.owner',
        'holder.owner',
      ),
    ],
    scenario: 'steal',
  },
]
