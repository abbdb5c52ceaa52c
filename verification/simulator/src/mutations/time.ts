/** Mutations of when a lease ends, and of how its holder learns it. */
import type { Mutation } from './mutation.js'

const NOW_IN_CLAIM = 'this.services.runtime.clock.monotonicMs()'

export const TIME_MUTATIONS: readonly Mutation[] = [
  {
    name: 'held-without-deadline',
    breaks:
      '`held` is checked against the deadline, so that it is false after a pause before any timer has run',
    edits: [
      {
        file: 'lease/grant/grant.js',
        find: 'this.isOpen && nowMs < this.deadlineMs && !this.clocksDisagree(nowMs, offsetMs)',
        replace: 'this.isOpen && !this.clocksDisagree(nowMs, offsetMs)',
      },
    ],
  },
  {
    name: 'held-while-clocks-disagree',
    breaks:
      'When wall clock and monotonic clock part, as after a sleep of the machine, `held` is false',
    edits: [
      {
        file: 'lease/grant/grant.js',
        find: 'this.isOpen && nowMs < this.deadlineMs && !this.clocksDisagree(nowMs, offsetMs)',
        replace: 'this.isOpen && nowMs < this.deadlineMs',
      },
    ],
  },
  {
    name: 'no-margin',
    breaks: 'A margin is taken off the TTL, for clocks that run at different rates',
    // With no margin at all, the moment between two readings puts a lease in doubt.
    edits: [{ file: 'clock/margin.js', find: 'return ttlMs * 0.01 + 2;', replace: 'return 0.2;' }],
  },
  {
    name: 'grant-from-reply',
    breaks: 'A lease counts from when the request left, not from when the answer came',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'termsOfFoundGrant)(answer, sent, ',
        replace: `termsOfFoundGrant)(answer, { ...sent, sentMs: ${NOW_IN_CLAIM} }, `,
      },
      {
        file: 'lease/claim/pending-claim.js',
        find: 'this.grant(answer, sent)',
        replace: `this.grant(answer, { ...sent, sentMs: ${NOW_IN_CLAIM} })`,
      },
    ],
  },
  {
    name: 'renewal-from-reply',
    breaks: 'A renewed lease counts from when the renewal left, not from when the answer came',
    edits: [
      {
        file: 'lease/renew/renewal-scheduler.js',
        find: 'grant.extend(sent.sentMs, ',
        replace: 'grant.extend(this.#runtime.clock.monotonicMs(), ',
      },
    ],
  },
  {
    name: 'existing-grant-restarts',
    breaks: 'An answer that reports an existing grant does not restart its clock',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'answer.alreadyGranted',
        replace: 'false',
      },
    ],
  },
  {
    name: 'pushed-grant-restarts',
    breaks: 'A pushed grant counts from the last request that was answered "waiting"',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'if (terms)\n            this.grant(terms, terms);',
        replace: `if (terms)\n            this.grant(terms, { ...terms, sentMs: ${NOW_IN_CLAIM} });`,
      },
    ],
  },
  {
    name: 'missed-grant-counts',
    breaks:
      'The news of a grant is no grant when the claim may have lost it and have been queued again since',
    edits: [
      {
        file: 'lease/claim/claim-state.js',
        find: 'nowMs - since.sentMs + Math.abs(offsetMs - since.offsetMs)',
        replace: '0',
      },
    ],
    scenario: 'missed-grant',
  },
  {
    name: 'unknown-renewal-extends',
    breaks: 'A renewal whose outcome is unknown keeps the old deadline',
    edits: [
      {
        file: 'lease/renew/renewal-scheduler.js',
        find: "if (result.outcome === 'renewed') {",
        replace: "if (result.outcome !== 'lost') {",
      },
    ],
  },
  {
    name: 'loss-not-announced',
    breaks: 'Loss is announced by the deadline, even without a network',
    edits: [
      {
        file: 'lease/renew/renewal-scheduler.js',
        find: "this.lose(grant, 'deadline');",
        replace: '',
      },
    ],
  },
  {
    name: 'renewal-ignores-loss',
    breaks: 'A holder whose renewal is refused stops at once',
    edits: [
      {
        file: 'lease/renew/renewal-scheduler.js',
        find: "this.lose(grant, result.reason, result.reason === 'stolen' ? result.stealReason : undefined);\n            return;",
        replace: "result = { outcome: 'renewed' };",
      },
    ],
  },
  {
    name: 'late-grant-handed-out',
    breaks: 'A lease that ended on the way is never handed out',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'if (grant.deadlineMs - deadline_js_1.ANNOUNCE_EARLY_MS <= nowMs) {',
        replace: 'if (false) {',
      },
    ],
  },
  {
    name: 'grant-in-doubt-handed-out',
    breaks: 'A grant that came while the machine slept is asked about before it is handed out',
    edits: [
      {
        file: 'lease/claim/pending-claim.js',
        find: 'else if (grant.clocksDisagree(nowMs, offsetMs)) {',
        replace: 'else if (false) {',
      },
    ],
  },
]
