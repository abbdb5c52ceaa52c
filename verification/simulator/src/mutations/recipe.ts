/** Mutations of the queue recipe of etcd and ZooKeeper, and of how it repeats what must be done. */
import type { Edit, Mutation } from './mutation.js'

const inRecipe = (file: string, find: string, replace: string): Edit => ({
  file: `stores/coordination/${file}`,
  find,
  replace,
})

const inWaiter = (find: string, replace: string): Edit =>
  inRecipe('queue/queue-waiter.js', find, replace)

const inRemover = (find: string, replace: string): Edit =>
  inRecipe('queue/entry-remover.js', find, replace)

const SESSION_MUTATIONS: readonly Mutation[] = [
  {
    name: 'recipe-sleep-uncounted',
    breaks: 'A session counts as silent by both clocks, since a sleep of the machine stops one',
    edits: [
      inRecipe(
        'connection/moment.js',
        'return monotonicMs + Math.abs(wallMs - monotonicMs);',
        'return monotonicMs;',
      ),
    ],
    store: 'etcd-queue',
    scenario: 'sleep-after-attempt',
  },
  {
    name: 'recipe-session-unheard',
    breaks: 'A grant counts only as far as its session certainly lives',
    edits: [
      inRecipe(
        'session.js',
        'if (this.#leftMs(now) < ttlMs && !(await this.#assure(now, leastMs)))\n            return 0;\n        return Math.min(ttlMs, this.#leftMs(now));',
        'return ttlMs;',
      ),
    ],
    store: 'etcd-queue',
  },
  {
    name: 'recipe-repeated-after-sleep',
    breaks: 'An attempt that is repeated after a sleep promises no more than its session',
    edits: [
      inWaiter(
        'return leftMs > 0 ? session.assure(leftMs) : !session.lost;',
        'return !session.lost;',
      ),
    ],
    store: 'etcd-queue',
    scenario: 'sleep-after-attempt',
  },
  {
    name: 'recipe-waiter-not-moved',
    breaks: 'The first renewal of a waiter that was granted moves it to the session of its TTL',
    edits: [
      inRecipe(
        'verbs/entry-renewer.js',
        'const moves = queueEntry.session !== session;',
        'const moves = false;',
      ),
    ],
    store: 'etcd-queue',
  },
]

const WAITING_MUTATIONS: readonly Mutation[] = [
  {
    name: 'recipe-reader-not-woken',
    breaks: 'A reader behind a writer of its own process is woken by the release',
    edits: [inWaiter('if (!stopStanding || !localHandOffs', 'if (!localHandOffs')],
    store: 'etcd-queue',
    scenario: 'reader-behind-writer',
  },
  {
    name: 'recipe-grant-unseen',
    breaks: 'A permit behind a waiter learns that the waiter was granted',
    edits: [inWaiter("if (claim.kind === 'semaphore')", 'if (false)')],
    store: 'etcd-queue',
    scenario: 'permit-behind-waiter',
  },
  {
    name: 'recipe-one-holder-watched',
    breaks: 'The first waiter of a semaphore watches all holders',
    edits: [
      inRecipe(
        'queue/queue-rule.js',
        'if (!last || (!wantsAll(claim) && weight <= claim.capacity))',
        'if (!last)',
      ),
    ],
    store: 'etcd-queue',
    scenario: 'first-of-two-holders',
  },
  {
    name: 'recipe-reader-passes-writer',
    breaks: 'A reader waits for the writers before it',
    edits: [inRecipe('queue/queue-view.js', '(claim, writer ? [writer] : [])', '(claim, [])')],
    store: 'zookeeper-queue',
  },
  {
    name: 'recipe-weight-ignored',
    breaks: 'A claim holds when the weights before it leave room for its own',
    edits: [
      inRecipe(
        'queue/queue-rule.js',
        'return weight + claim.weight <= claim.capacity;',
        'return weight < claim.capacity;',
      ),
    ],
    store: 'zookeeper-queue',
  },
]

const REMOVAL_MUTATIONS: readonly Mutation[] = [
  {
    name: 'recipe-removal-given-up',
    breaks: 'An entry that could not be taken out is tried again until the service answers',
    edits: [inRemover('this.scheduleRemoval(record);\n            throw error;', 'throw error;')],
    store: 'etcd-queue',
  },
  {
    name: 'recipe-refusal-given-up',
    breaks: 'A claim that could not be refused is refused as soon as the service answers',
    edits: [
      inRemover('this.#retryLater(record, claim);\n            throw error;', 'throw error;'),
    ],
    store: 'etcd-queue',
    scenario: 'unheard-refusal',
  },
  {
    name: 'recipe-doubt-forgotten',
    breaks: 'An attempt without an answer may have made its entry: its withdrawal looks for it',
    edits: [
      inRecipe(
        'queue/queue-entrance.js',
        'record.inDoubt = true;\n        const [assured',
        'const [assured',
      ),
    ],
    store: 'etcd-queue',
  },
  {
    name: 'recipe-steal-ignored',
    breaks: 'A stolen entry is renewed no more, and taken out when its lease has ended',
    edits: [inRecipe('verbs/entry-renewer.js', 'if (reading.data.stolen !== true)', 'if (true)')],
    store: 'etcd-queue',
    scenario: 'stolen-entry',
  },
  {
    name: 'recipe-nothing-repeated',
    breaks: 'A request without an answer is made again',
    edits: [
      {
        file: 'in-doubt/repeated-requests.js',
        find: 'const due = this.#takeDue();',
        replace: 'const due = [];',
      },
    ],
    store: 'etcd-queue',
    scenario: 'unheard-refusal',
  },
]

const TOKEN_MUTATIONS: readonly Mutation[] = [
  {
    name: 'recipe-refused-adopter-keeps',
    breaks: 'An adopter that is refused takes out what a lost request has given it',
    edits: [
      inRecipe('verbs/lease-adopter.js', "if (known || changed.reason === 'stolen')", 'if (false)'),
    ],
    store: 'etcd-queue',
    scenario: 'stolen-adoption',
  },
]

export const RECIPE_MUTATIONS: readonly Mutation[] = [
  ...SESSION_MUTATIONS,
  ...WAITING_MUTATIONS,
  ...REMOVAL_MUTATIONS,
  ...TOKEN_MUTATIONS,
]
