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
    edits: [inRedlock('quorum.js', 'Math.floor(nodes / 2) + 1', 'Math.floor(nodes / 2)')],
    store: 'redlock',
  },
  {
    name: 'redlock-given-up-vote-renewed',
    breaks: 'A vote that a withdrawal will end renews no lease, though its attempt was refused',
    edits: [
      {
        file: 'stores/redis/requests.js',
        find: "result.outcome !== 'renewed' || !isGivenUp",
        replace: 'true',
      },
    ],
    store: 'redlock',
    scenario: 'given-up-vote',
  },
  {
    name: 'redlock-given-up-vote-renewed-before',
    breaks:
      'A vote that a withdrawal will end renews no lease, though the renewal left before the refusal came',
    edits: [
      {
        file: 'stores/redis/requests.js',
        find: 'this.#wasGivenUp || this.#round.inDoubt.isGivenUp(this.claimId)',
        replace: 'this.#wasGivenUp',
      },
    ],
    store: 'redlock',
    scenario: 'given-up-renewal',
  },
  {
    name: 'redlock-owed-vote-renewed',
    breaks: 'A vote that was not taken back yet renews no lease',
    edits: [inRedlock('renewal-round.js', "result.outcome !== 'renewed' || !isOwed", 'true')],
    store: 'redlock',
    scenario: 'owed-vote',
  },
  {
    name: 'redlock-retraction-forgotten',
    breaks:
      'After a retraction that may have been sent twice, the claim is refused for as long as that may arrive',
    edits: [
      {
        file: 'stores/redis/store.js',
        find: 'this.#inDoubt.add(claim);\n        throw inDoubt(claim.lock);',
        replace: 'throw inDoubt(claim.lock);',
      },
    ],
    store: 'redlock',
    scenario: 'doubled-retraction',
  },
  {
    name: 'redlock-failed-retraction-forgotten',
    breaks: 'After a retraction that failed, the claim is refused for as long as that may arrive',
    edits: [
      {
        file: 'stores/redis/store.js',
        find: 'this.#inDoubt.add(claim);\n            throw error;',
        replace: 'throw error;',
      },
    ],
    store: 'redlock',
    scenario: 'failed-retraction',
  },
]
