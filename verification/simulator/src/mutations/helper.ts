/** Mutations of the thread that renews beside a blocked event loop. */
import type { Edit, Mutation } from './mutation.js'

const FOLDER = 'lease/renew/helper'
const LATE_RENEWALS = `${FOLDER}/late-renewals.js`
const SCHEDULER = 'lease/renew/renewal-scheduler.js'

function late(find: string, replace: string, times = 1): Edit {
  return { file: LATE_RENEWALS, find, replace, times }
}

export const HELPER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'helper-renews-after-release',
    breaks: 'A release first takes the claim from the thread, which renews it no more',
    edits: [
      {
        file: `${FOLDER}/shared-leases.js`,
        find: "Atomics.store(this.#words, this.#base * 2, exports.SLOT_STATES.indexOf('ended'));",
        replace: '',
      },
    ],
    store: 'redis-worker',
  },
  {
    name: 'helper-outlives-loss',
    breaks: 'The thread renews no lease that the main thread has lost',
    edits: [
      {
        file: SCHEDULER,
        find: 'return;\n        this.remove(grant);\n',
        replace: 'return;\n        this.#unlist(grant);\n',
      },
    ],
    store: 'redis-worker',
  },
  {
    name: 'helper-late-change-counts',
    breaks: 'A change that reaches the thread after the end of its lease is ignored',
    edits: [late('if (lease.isNew)', "if (lease.isNew || known?.slot.state === 'ended')")],
    store: 'redis-worker',
  },
  {
    name: 'helper-renews-exported',
    breaks: 'An export takes the claim from the thread',
    edits: [
      {
        file: SCHEDULER,
        find: 'stopRenewing(grant) {\n        this.remove(grant);',
        replace: 'stopRenewing(grant) {\n        this.#unlist(grant);',
      },
    ],
    store: 'redis-worker',
    scenario: 'blocked-exporter',
  },
  {
    name: 'helper-cap-ignored',
    breaks: 'The thread renews no later than `blockedAtMostMs` after the last beat',
    edits: [late('this.#settings.blockedAtMostMs', '1e9', 3)],
    masked: 'three places keep the limit',
    store: 'redis-worker',
  },
  {
    name: 'helper-renews-always',
    breaks: 'The thread renews only while the event loop is blocked',
    edits: [
      late('const isSilent = nowMs - beatMs > this.#shortestMs / 3;', 'const isSilent = true;'),
      late('nowMs - beatMs <= worthMs / 3 ||', ''),
    ],
    masked: 'each lease is looked at by its own TTL',
    store: 'redis-worker',
  },
  {
    name: 'helper-renews-nothing',
    breaks: 'A blocked event loop keeps its leases',
    edits: [late('if (isSilent && nowMs <', 'if (false && nowMs <')],
    store: 'redis-worker',
    scenario: 'blocked-holder',
  },
]
