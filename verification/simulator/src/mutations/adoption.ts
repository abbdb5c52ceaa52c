/** Mutations of exported leases: of the verb that adopts them, and of what the adopter believes. */
import type { Edit, Mutation } from './mutation.js'

const inRule = (find: string, replace: string): Edit => ({
  file: 'store/grant-rule.js',
  find,
  replace,
})

const inRedlock = (file: string, find: string, replace: string): Edit => ({
  file: `stores/redlock/${file}`,
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
        find: '(state.heldWeight <= state.capacity, ',
        replace: '(true, ',
      },
    ],
    masked: 'an invariant ends the step before a promise is broken',
    store: 'redis',
  },
  {
    name: 'adopted-claim-granted-again',
    breaks: 'The claim that was adopted is refused from then on',
    edits: [inRule("(0, tombstones_js_1.addTombstone)(state, from, 'absent', step);", '')],
    store: 'redis',
  },
  {
    name: 'adoption-keeps-token',
    breaks: 'An adopter gets a larger token, so that resources refuse the exporter',
    edits: [
      inRule('token: detached ? token : (0, next_token_js_1.nextToken)(state, step),', 'token,'),
    ],
    store: 'redis',
  },
  {
    name: 'adoption-forgets-token',
    breaks: 'The token of an adopter counts as the last one of the lock',
    edits: [
      inRule(
        'token: detached ? token : (0, next_token_js_1.nextToken)(state, step),',
        'token: detached ? token : token + 1,',
      ),
      inRule('state.lastToken = Math.max(state.lastToken, heir.token);', ''),
    ],
    store: 'redis',
  },
  {
    name: 'withdrawn-adopter-granted',
    breaks: 'An adopter that has withdrawn its claim is refused, also while the lease still lasts',
    edits: [
      inRule(
        'if (!hasToken || (0, tombstones_js_1.hasTombstone)(state, to.id, step))',
        'if (!hasToken)',
      ),
    ],
    store: 'redis',
    scenario: 'late-adoption',
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
        find: 'Grant(to, result, { sentMs, offsetMs }, renews, ',
        replace: 'Grant(to, result, { sentMs: runtime.clock.monotonicMs(), offsetMs }, renews, ',
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
    scenario: 'stopped-adopter',
  },
  {
    name: 'redlock-node-adopted-twice',
    breaks: 'A server turns a claim into one other claim, and counts for one adopter only',
    edits: [
      inRule('state.holders.delete(from.id);', 'state.heldWeight += heir.weight;'),
      inRule(
        "(0, tombstones_js_1.addTombstone)(state, from, 'absent', step);\n    return grantedTo(heir",
        'return grantedTo(heir',
      ),
      {
        file: 'store/expire-and-promote.js',
        find: '(state.heldWeight <= state.capacity, ',
        replace: '(true, ',
      },
    ],
    masked: 'an invariant ends the step before a promise is broken, and a tombstone refuses',
    store: 'redlock',
  },
  {
    name: 'redlock-adopter-unsealed',
    breaks: 'More than half of the servers seal the token of an adopter',
    edits: [
      inRedlock(
        'votes/claim-vote.js',
        ': await this.#seal();',
        ': { token: this.#votes.flatMap(({ lastToken }) => lastToken ?? []).sort().at(-1) };',
      ),
      inRedlock(
        'votes/vote-count.js',
        "vote.state.is === 'voted' && vote.hasSealed(token)",
        "vote.state.is === 'voted'",
      ),
    ],
    store: 'redlock',
  },
  {
    name: 'redlock-minority-adopts',
    breaks: 'An adopter needs more than half of the servers',
    edits: [
      inRedlock(
        'votes/adoption-round.js',
        'length >= (0, node_js_1.quorumOf)(this.#panel);',
        'length > 0;',
      ),
      inRedlock(
        'votes/claim-vote.js',
        'token, (0, node_js_1.quorumOf)(this.#panel), startMs)',
        'token, this.#adopts ? 1 : (0, node_js_1.quorumOf)(this.#panel), startMs)',
      ),
    ],
    masked: 'the servers are counted twice',
    store: 'redlock',
  },
  {
    name: 'redlock-adoption-given-back',
    breaks: 'A server never gives the lease back to the claim that was adopted',
    edits: [
      inRule(
        "(0, tombstones_js_1.addTombstone)(state, from, 'absent', step);\n    return grantedTo(heir",
        'heir.before = holder;\n    return grantedTo(heir',
      ),
      inRule(
        'drop)(state, holder);\n        (0, tombstones_js_1.addTombstone)(state, claim, ',
        'drop)(state, holder);\n        if (holder.before) { state.holders.set(holder.before.id, holder.before); state.heldWeight += holder.weight; }\n        (0, tombstones_js_1.addTombstone)(state, claim, ',
      ),
    ],
    masked: 'the claim that was adopted has a tombstone',
    store: 'redlock',
  },
  {
    name: 'redlock-late-export-forgotten',
    breaks: 'An adopted claim is refused for as long as the request that exported it may arrive',
    edits: [
      {
        file: 'stores/redlock/nodes/redis-voter.js',
        find: 'this.requests.lateRequests.add(adoption.from);',
        replace: '',
      },
    ],
    store: 'redlock',
  },
  {
    name: 'redlock-adopted-claim-stays',
    breaks: 'A vote that the adopted claim still has is withdrawn',
    edits: [inRedlock('votes/claim-vote.js', 'round.withdrawOld();', '')],
    store: 'redlock',
    scenario: 'unheard-export',
  },
  {
    name: 'redlock-refused-adopter-keeps',
    breaks: 'An adopter that is refused returns what it has taken',
    edits: [
      inRedlock(
        'votes/claim-vote.js',
        'for (const vote of this.#votes)\n            vote.withdrawLater(this.claim);',
        '',
      ),
    ],
    store: 'redlock',
    scenario: 'split-adoption',
  },
]
