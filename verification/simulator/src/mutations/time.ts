/** Mutations of when a lease ends, and of who is told. */
import type { Mutation } from './mutation.js'

const SENT_AT_REPLY = 'this.#client.clock.monotonicMs()'

export const TIME_MUTATIONS: readonly Mutation[] = [
  {
    name: 'held-without-deadline',
    breaks:
      '`held` is checked against the deadline, so that it is false after a pause before any timer has run',
    edits: [
      {
        file: 'lease/grant.js',
        find: "this.state === 'held' && nowMs < this.deadlineMs && !this.clocksDisagree(nowMs)",
        replace: "this.state === 'held' && !this.clocksDisagree(nowMs)",
      },
    ],
  },
  {
    name: 'held-while-clocks-disagree',
    breaks:
      'When wall clock and monotonic clock part, as after a sleep of the machine, `held` is false',
    edits: [
      {
        file: 'lease/grant.js',
        find: "this.state === 'held' && nowMs < this.deadlineMs && !this.clocksDisagree(nowMs)",
        replace: "this.state === 'held' && nowMs < this.deadlineMs",
      },
    ],
  },
  {
    name: 'no-margin',
    breaks: 'A margin is taken off the TTL, for clocks that run at different rates',
    edits: [{ file: 'lease/deadline.js', find: 'return ttlMs * 0.01 + 2;', replace: 'return 0;' }],
  },
  {
    name: 'grant-from-reply',
    breaks: 'A lease counts from when the request left, not from when the answer came',
    edits: [
      {
        file: 'lease/pending-claim.js',
        find: 'grantBaseMs(granted, sent.sentMs, waiting?.sentMs)',
        replace: `grantBaseMs(granted, ${SENT_AT_REPLY}, waiting?.sentMs)`,
      },
    ],
  },
  {
    name: 'renewal-from-reply',
    breaks: 'A renewed lease counts from when the renewal left, not from when the answer came',
    edits: [
      {
        file: 'lease/renewal-scheduler.js',
        find: 'grant.extend(sent.sentMs, ',
        replace: `grant.extend(${SENT_AT_REPLY}, `,
      },
    ],
  },
  {
    name: 'existing-grant-restarts',
    breaks: 'An answer that reports an existing grant does not restart its clock',
    edits: [
      {
        file: 'lease/deadline.js',
        find: 'if (!granted.alreadyGranted)\n        return sentMs;',
        replace: 'return sentMs;',
      },
    ],
  },
  {
    name: 'pushed-grant-restarts',
    breaks: 'A pushed grant counts from the last request that was answered "waiting"',
    edits: [
      {
        file: 'lease/pending-claim.js',
        find: '...pushed, baseMs: since.sentMs',
        replace: `...pushed, baseMs: ${SENT_AT_REPLY}`,
      },
    ],
  },
  {
    name: 'missed-grant-counts',
    breaks:
      'The news of a grant is no grant when the claim may have lost it and have been queued again since',
    edits: [
      {
        file: 'lease/pending-claim.js',
        find: 'this.#noteSilence(this.#waiting ?? this.#first);',
        replace: '',
      },
    ],
    scenario: 'missed-grant',
  },
  {
    name: 'unknown-renewal-extends',
    breaks: 'A renewal whose outcome is unknown keeps the old deadline',
    edits: [
      {
        file: 'lease/renewal-scheduler.js',
        find: "if (result.outcome === 'renewed') {",
        replace: "if (result.outcome !== 'lost') {",
      },
    ],
  },
  {
    name: 'loss-not-told',
    breaks: 'Loss is told by the deadline, whatever the network does',
    edits: [{ file: 'lease/renewal-scheduler.js', find: "grant.lose('deadline');", replace: '' }],
  },
  {
    name: 'renewal-ignores-loss',
    breaks: 'A holder whose renewal is refused stops at once',
    edits: [
      {
        file: 'lease/renewal-scheduler.js',
        find: "grant.lose(result.reason, result.reason === 'stolen' ? result.stealReason : undefined);\n            return;",
        replace: "result = { outcome: 'renewed' };",
      },
    ],
  },
  {
    name: 'late-grant-handed-out',
    breaks: 'A lease that ended on the way is never handed out',
    edits: [
      {
        file: 'lease/pending-claim.js',
        find: 'if (leaseEndMs(terms.baseMs, terms.ttlMs) <= nowMs) {',
        replace: 'if (false) {',
      },
    ],
  },
  {
    name: 'doubtful-grant-handed-out',
    breaks: 'A grant that came while the machine slept is asked about before it is handed out',
    edits: [
      {
        file: 'lease/pending-claim.js',
        find: 'if (clocksParted(this.#client.clockOffsetMs(nowMs), terms.offsetMs, terms.ttlMs)) {',
        replace: 'if (false) {',
      },
    ],
  },
]
