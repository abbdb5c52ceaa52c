/** What is broken on purpose, so that a run over the broken copy must turn red. */
import { mutatedCopy, mutatedFiles, MUTATIONS as SIMULATED, type Edit } from '@holdfast/simulator'
import { BLOCK_MUTATIONS } from './block-mutations.js'
import {
  COMMAND_LINE_MUTATIONS,
  filesOfMutatedCommandLine,
  mutatedCommandLine,
} from './command-line/mutations.js'
import type { TortureMutation } from './mutation.js'
import { REDLOCK_MUTATIONS } from './redlock-mutations.js'

/** Takes the edits of the simulator's mutations of these names. */
function edits(...names: readonly string[]): Edit[] {
  return names.flatMap((name) => {
    const mutation = SIMULATED.find((one) => one.name === name)
    if (!mutation) throw new Error(`The simulator has no mutation ${name}.`)
    return mutation.edits
  })
}

const COORDINATION = 'stores/coordination/session.js'
const ZOOKEEPER = 'stores/zookeeper/session/session.js'

/**
 * Lets a leader vouch for sessions by itself, where a caller asks for it: `sync` needs no quorum.
 */
const ALONE: readonly Edit[] = [
  ['async #assure(now, leastMs) {', 'async #assure(now, leastMs, alone) {'],
  ['this.#send(now, oldestMs)', 'this.#send(now, oldestMs, alone)'],
  ['#send(now, neededMs) {', '#send(now, neededMs, alone) {'],
  ['this.#ask(now, oldestMs)', 'this.#ask(now, oldestMs, alone)'],
  ['async #ask(now, oldestMs) {', 'async #ask(now, oldestMs, alone) {'],
  ['this.handle.keepAlive(now, oldestMs)', 'this.handle.keepAlive(now, oldestMs, alone)'],
]
  .map(([find = '', replace = '']): Edit => ({ file: COORDINATION, find, replace }))
  .concat([
    {
      file: ZOOKEEPER,
      find: 'async keepAlive(_now, oldestMs) {',
      replace: 'async keepAlive(_now, oldestMs, alone) {',
    },
    {
      file: ZOOKEEPER,
      find: 'let since = await this.agree();',
      replace:
        "let since = await (alone ? this.askAgain({ op: 9, write: (writer) => void writer.path('/'), read: () => undefined }).then(() => _now) : this.agree());",
    },
  ])

/** In the scripts that let a claim in. */
function script(find: string, replace: string, times = 2): Edit {
  return { file: 'stores/redis/rule/scripts.generated.js', find, replace, times }
}

export const MUTATIONS: readonly TortureMutation[] = [
  {
    name: 'held-without-deadline',
    breaks:
      '`held` is checked against the deadline, so that it is false after a pause before any timer has run',
    edits: edits('held-without-deadline'),
    store: 'redis',
    faults: ['pause'],
    shows: ['held'],
  },
  {
    name: 'loss-not-announced',
    breaks: 'Loss is announced by the deadline, even without a network',
    edits: edits('loss-not-announced'),
    store: 'redis',
    faults: ['black-hole', 'stall'],
    shows: ['loss-announced'],
  },
  {
    name: 'grants-inside-transactions',
    breaks: 'No lock is granted on a connection that the program left inside of a transaction',
    edits: [
      {
        file: 'stores/postgres/connection/clients.js',
        find: "if (status === 'T' || status === 'E')",
        replace: 'if (false)',
      },
      {
        file: 'stores/postgres/connection/clients.js',
        find: "status === 'I' ? statement : (statement.checked?.() ?? statement)",
        replace: 'statement',
      },
    ],
    store: 'postgres',
    faults: ['latency'],
    shows: ['exclusion'],
  },
  {
    name: 'renewal-without-owner',
    breaks: 'A renewal extends only the lease of its own claim',
    edits: [
      script(
        'if holder and not holder[9] then\\nholder[2] = owner',
        'holder = holder or state[13] if holder and not holder[9] then\\nholder[2] = owner',
        1,
      ),
    ],
    store: 'redis',
    faults: ['flush'],
    shows: ['forgotten'],
  },
  {
    name: 'no-withdraw',
    breaks: 'An attempt in doubt is withdrawn',
    edits: edits('no-withdraw-when-in-doubt', 'no-withdraw-when-given-up'),
    store: 'redis',
    faults: ['drop-replies'],
    shows: ['ghost'],
  },
  {
    name: 'no-floor',
    breaks: 'A waiter attempts again by itself, also when its wake-ups are lost',
    edits: edits('no-floor'),
    store: 'redis',
    faults: ['reset', 'kill'],
    shows: ['liveness'],
  },
  {
    name: 'no-look-after-waiting',
    breaks: 'After a wait the own entry is looked at again before the waiter believes to hold',
    edits: [
      ...edits('pushed-grant-restarts', 'existing-grant-restarts'),
      {
        file: 'stores/coordination/queue/queue-waiter.js',
        find: "if (reading.state === 'absent')\n            return this.#gone(record, reading.stealReason);\n        if (!lives)\n            return this.#leave(record);",
        replace: "if (reading.state === 'absent')\n            return this.#existing(queueEntry);",
      },
      {
        file: 'stores/coordination/queue/queue-waiter.js',
        find: "if (reading.state === 'absent')\n                return wake();",
        replace:
          "if (reading.state === 'absent')\n                return wake(this.#promote(queueEntry));",
      },
    ],
    masked:
      'the deadline of such a grant, which counts from the last answer before the wait, would be over',
    store: 'etcd',
    faults: ['pause'],
    shows: ['exclusion', 'tokens', 'counter'],
  },
  {
    name: 'leader-alone-renews',
    breaks:
      'A lease is renewed by what a quorum has agreed to, and not by the word of the leader alone',
    edits: [
      ...ALONE,
      {
        file: COORDINATION,
        find: 'this.#assure(now, this.#longestMs)',
        replace: 'this.#assure(now, this.#longestMs, true)',
      },
    ],
    store: 'zookeeper',
    faults: ['leader-deposed'],
    seconds: 60,
    shows: ['exclusion'],
  },
  {
    name: 'leader-alone-keeps-waiters',
    breaks:
      'A waiter counts from what a quorum has agreed to, and not from the word of the leader alone',
    edits: [
      ...ALONE,
      {
        file: COORDINATION,
        find: 'await this.#assure(now, leastMs)',
        replace: 'await this.#assure(now, leastMs, true)',
      },
    ],
    store: 'zookeeper',
    faults: ['leader-deposed'],
    seconds: 60,
    shows: ['exclusion'],
  },
  {
    name: 'request-keeps-alive',
    breaks: 'A lease counts from a sign of life that the leader of ZooKeeper has heard of',
    edits: [
      {
        file: ZOOKEEPER,
        find: 'return this.#lost ? undefined : since;',
        replace: 'return this.#lost ? undefined : _now;',
      },
      { file: ZOOKEEPER, find: 'since.monotonicMs < oldestMs', replace: 'false' },
      {
        file: ZOOKEEPER,
        find: 'Math.min(tickMs / 2, thirdMs)',
        replace: 'thirdMs',
      },
    ],
    masked: 'a sign of life each half tick is hardly older than the request',
    store: 'zookeeper',
    faults: ['follower-isolated'],
    seconds: 60,
    shows: ['exclusion'],
  },
  {
    name: 'dead-holders',
    breaks: 'The count of a lock begins without what dead holders left in its helper keys',
    edits: [
      script("if is_new and state[8] == 0 then clear_hash(key .. ':h') end\\n", ''),
      script('state[4], state[8], state[5], state[15] = 0, 0, 0, 0', 'state[5] = 0'),
      script('state[4] = state[4] + holder[3]\\nend\\nif not state[13]', 'end\\nif false'),
      script(' or is_miscounted(state)', ''),
      script('if state[4] < 0 or state[6] < 0 or state[8] < 0 then', 'if false then'),
    ],
    masked: 'each expiry counts the holders again, and a count below zero is not written down',
    store: 'redis',
    faults: ['abandon'],
    seconds: 25,
    shows: ['exclusion', 'liveness', 'error'],
  },
  {
    name: 'read-only-stays',
    breaks: 'A connection to a server that was replaced and refuses writes is left',
    edits: [
      {
        file: 'stores/redis/connection/deployment.js',
        find: 'transport.leave?.();',
        replace: '',
      },
    ],
    store: 'redis',
    faults: ['endpoint-moves'],
    shows: ['liveness'],
  },
  {
    name: 'adopted-claim-stays',
    breaks: 'The claim that was adopted holds no more, so that a second adopter finds it lost',
    edits: [
      {
        file: 'stores/redis/rule/scripts.generated.js',
        find: 'drop_holder(key, state, holder)\\nadd_tombstone(key, state, from, from_ttl_ms, 0, true)\\n',
        replace: '',
      },
    ],
    store: 'redis',
    faults: ['kill'],
    shows: ['exclusion'],
  },
  ...BLOCK_MUTATIONS,
  ...REDLOCK_MUTATIONS,
  ...COMMAND_LINE_MUTATIONS,
  {
    name: 'keep-alive-anywhere',
    breaks:
      'A session of etcd is kept alive through a member that has just answered a linearizable read',
    edits: [
      {
        file: 'stores/etcd/session.js',
        find: 'await this.#reads.confirmedMember();',
        replace: '{ endpoint: undefined, term: 0n };',
      },
    ],
    store: 'etcd',
    faults: ['disk-stalled'],
    seconds: 60,
    shows: ['exclusion'],
  },
]

export const MUTATION_NAMES = MUTATIONS.map(({ name }) => name)

/**
 * Makes a broken copy of the package that a mutation is about, and returns its folder. The caller
 * removes it.
 */
export function brokenCopyOf(mutation: TortureMutation): string {
  return mutation.of === 'cli' ? mutatedCommandLine(mutation) : mutatedCopy(mutation)
}

/**
 * Returns the texts of the files that a mutation changes, by their names in the package.
 * @throws Error when an edit does not fit the code
 */
export function brokenFilesOf(mutation: TortureMutation): ReadonlyMap<string, string> {
  return mutation.of === 'cli' ? filesOfMutatedCommandLine(mutation) : mutatedFiles(mutation)
}
