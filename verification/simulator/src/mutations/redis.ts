/** Mutations of the client side of the Redis store: batches, answers, and what comes unasked. */
import type { Edit, Mutation } from './mutation.js'

const inRedis = (file: string, find: string, replace: string): Edit => ({
  file: `stores/redis/${file}`,
  find,
  replace,
})

export const REDIS_MUTATIONS: readonly Mutation[] = [
  {
    name: 'redis-second-listener-unheard',
    breaks: 'An answer reaches each of its listeners, as where a firm withdrawal notes its own',
    edits: [
      {
        file: 'store/pending-answer.js',
        find: 'listenToPromise(this, listener);',
        replace: '{}',
      },
    ],
    store: 'redis',
  },
  {
    name: 'redis-answers-mixed-up',
    breaks: 'Each request of a batch gets the answer that is its own',
    edits: [inRedis('verbs/batches.js', 'lines[index++]', 'lines[lines.length - ++index]')],
    store: 'redis',
  },
  {
    name: 'redis-grant-for-anybody',
    breaks: 'A pushed grant reaches the claim that it names, and no other',
    edits: [
      inRedis(
        'wake-ups.js',
        'const watcher = this.#watchers.get(claimId);',
        'const watcher = this.#watchers.get(claimId) ?? [...this.#watchers.values()][0];',
      ),
    ],
    store: 'redis',
  },
  {
    name: 'pushed-ttl-believed',
    breaks:
      'A pushed grant lasts three heartbeats at most until its first renewal, with any message',
    edits: [
      {
        file: 'lease/claim/claim-state.js',
        find: 'Math.min(pushed.ttlMs, longestMs)',
        replace: 'pushed.ttlMs',
      },
    ],
    store: 'redis',
  },
  {
    name: 'redis-renewal-assumed',
    breaks: 'A renewal that failed is not taken for one that was done',
    edits: [
      inRedis('verbs/renewal-round.js', "{ outcome: 'unknown', cause }", "{ outcome: 'renewed' }"),
    ],
    store: 'redis',
  },
  {
    name: 'redis-release-assumed',
    breaks: 'A withdrawal that failed is not taken for one that was done',
    edits: [
      inRedis(
        'verbs/requests.js',
        'this.fail(requests.explain(caught, this.claim.lock))',
        "this.answer('released')",
      ),
    ],
    store: 'redis',
  },
  {
    name: 'redis-existing-grant-as-new',
    breaks: 'An answer that reports an existing grant is marked as such',
    edits: [inRedis('wire/answers.js', "alreadyGranted: rest[0] === '1'", 'alreadyGranted: false')],
    store: 'redis',
  },
]
