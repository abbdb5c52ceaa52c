/** Mutations of Redlock: which votes count, and what becomes of those that do not. */
import type { Edit, Mutation } from './mutation.js'

const inRedlock = (file: string, find: string, replace: string): Edit => ({
  file: `stores/redlock/${file}`,
  find,
  replace,
})

export const REDLOCK_MUTATIONS: readonly Mutation[] = [
  {
    name: 'redlock-half-is-enough',
    breaks: 'More than half of the servers have to vote',
    edits: [inRedlock('nodes/quorum.js', 'Math.floor(nodes / 2) + 1', 'Math.floor(nodes / 2)')],
    store: 'redlock',
  },
  {
    name: 'redlock-given-up-vote-renewed',
    breaks: 'A vote that a withdrawal will end renews no lease, though its attempt was refused',
    edits: [
      {
        file: 'stores/redis/verbs/renewal-round.js',
        find: "result.outcome !== 'renewed' || !isBeingWithdrawn",
        replace: 'true',
      },
    ],
    store: 'redlock',
    scenario: 'given-up-vote',
  },
  {
    name: 'redlock-owed-vote-renewed',
    breaks: 'A vote that was not taken back yet renews no lease',
    edits: [
      inRedlock('votes/renewal-round.js', "result.outcome !== 'renewed' || !isPending", 'true'),
    ],
    store: 'redlock',
    scenario: 'owed-vote',
  },
  {
    name: 'redlock-retraction-forgotten',
    breaks:
      'After a retraction that may have been sent twice, the claim is refused for as long as that may arrive',
    edits: [
      inRedlock(
        'nodes/redis-voter.js',
        'lateRequests.add(claim);\n        throw (0, errors_js_1.inDoubt)(claim.lock);',
        'throw (0, errors_js_1.inDoubt)(claim.lock);',
      ),
    ],
    store: 'redlock',
    scenario: 'doubled-retraction',
  },
  {
    name: 'redlock-failed-retraction-forgotten',
    breaks: 'After a retraction that failed, the claim is refused for as long as that may arrive',
    edits: [
      inRedlock(
        'nodes/redis-voter.js',
        'lateRequests.add(claim);\n            throw error;',
        'throw error;',
      ),
    ],
    store: 'redlock',
    scenario: 'failed-retraction',
  },
  {
    name: 'redlock-votes-alone',
    breaks: 'A grant needs a majority of seals: votes alone are no token',
    edits: [
      inRedlock(
        'votes/node-vote.js',
        "return this.state.is === 'voted' && this.state.token === token;",
        "return this.state.is === 'voted';",
      ),
    ],
    store: 'redlock',
  },
  {
    name: 'redlock-agreed-beside-seals',
    breaks: 'Equal votes are no token once the client has asked for seals, which may come late',
    edits: [inRedlock('votes/vote-count.js', 'votes.some(({ maySeal }) => maySeal)', 'false')],
    store: 'redlock',
  },
  {
    name: 'redlock-agreed-minority',
    breaks: 'Equal votes are a token without seals only where they are a majority',
    edits: [inRedlock('votes/vote-count.js', 'equal >= quorum', 'equal >= quorum - 1')],
    store: 'redlock',
  },
  {
    name: 'redlock-refused-seal-counts',
    breaks: 'A server that refused to seal a token does not count as one that sealed it',
    edits: [inRedlock('votes/node-vote.js', 'refusedAt: result.lastToken', 'token')],
    store: 'redlock',
  },
]
