/** Mutations of waiting, giving up and releasing. */
import type { Mutation } from './mutation.js'

export const WAITING_MUTATIONS: readonly Mutation[] = [
  {
    name: 'no-floor',
    breaks: 'A waiter attempts again by itself, also when its wake-ups are lost',
    edits: [
      { file: 'lease/wait/heartbeats.js', find: 'listener();\n', replace: '\n' },
      {
        file: 'lease/wait/claim-wake-ups.js',
        find: 'timer(delayMs + 1, () => this.#listener.attempt())',
        replace: 'timer(delayMs + 1, () => undefined)',
      },
    ],
    masked: 'the heartbeat and the attempt at the expiry of the holder stand in for each other',
  },
  {
    name: 'no-heartbeat',
    breaks: 'A waiter keeps its place by heartbeats',
    edits: [{ file: 'lease/wait/heartbeats.js', find: 'listener();\n', replace: '\n' }],
  },
  {
    name: 'impatient',
    breaks: 'A caller waits for as long as it says, also while the store is away',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'if (this.terms.enqueue && (0, release_until_answered_js_1.isRetryable)(error)) {',
        replace:
          'if (this.waitedMs !== undefined && (0, release_until_answered_js_1.isRetryable)(error)) {',
      },
    ],
  },
  {
    name: 'retried-as-another',
    breaks: 'An attempt that found no store is sent again with the same claim',
    edits: [
      {
        file: 'lease/claim/claim-attempts.js',
        find: 'this.send(true);',
        replace: '(this.claim = this.services.runtime.newClaim(this.template)) && this.send(true);',
      },
    ],
  },
  {
    name: 'no-withdraw-when-in-doubt',
    breaks: 'An attempt in doubt is withdrawn',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'this.end();\n        withdrawals.inBackground(this.claim);\n        this.listener.done(undefined, error);',
        replace: 'this.end();\n        this.listener.done(undefined, error);',
      },
    ],
    scenario: 'unanswered-attempt',
  },
  {
    name: 'no-withdraw-when-given-up',
    breaks: 'A wait that is given up is withdrawn',
    edits: [
      {
        file: 'lease/claim/claim-attempts.js',
        find: 'if (wasSent)\n            this.services.withdrawals.inBackground(this.claim);',
        replace: '',
      },
    ],
    scenario: 'given-up-wait',
  },
  {
    name: 'withdraw-once',
    breaks: 'A withdraw that was not answered is repeated',
    edits: [
      {
        file: 'in-doubt/repeated-requests.js',
        find: 'if (givesUp(error, failures))',
        replace: 'if (true)',
      },
    ],
    scenario: 'unanswered-release',
  },
  {
    name: 'lying-release',
    breaks: '`released` is answered only if it was ours until then',
    edits: [
      {
        file: 'lease/release/release-until-answered.js',
        find: "outcome === 'released' ? outcome : 'lost'",
        replace: "'released'",
      },
    ],
  },
  {
    name: 'release-in-doubt-is-released',
    breaks: 'A release that stays in doubt is not taken for a success',
    edits: [
      {
        file: 'lease/release/release-until-answered.js',
        find: 'throw this.#unknownRelease(claim, caught);',
        replace: "return 'released';",
      },
    ],
  },
]
