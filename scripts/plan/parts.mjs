/**
 * The parts of the exhaustive plan, in the order in which they run. Each can be run alone:
 * `npm run test:full -- newest torture`.
 *
 * Heavy seeds and rounds run on one Node. The other Nodes run what a Node's version can change.
 * `minutes` is what a part took on two cores beside other load, 112 in all: less alone.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { STORES } from '@holdfast/stores'
import { OTHER_NODES, onNode } from '../nodes.mjs'
import { node, npm } from '../steps.mjs'
import { NEWEST_RUNS } from './newest.mjs'

/** @typedef {import('../steps.mjs').Step} Step */
/** @typedef {{ name: string, minutes: number, title: string, steps: readonly Step[] }} Part */

/** `HOLDFAST_NEWEST=none` leaves the newest servers out. */
export const NEWEST = process.env.HOLDFAST_NEWEST

const ROOT = join(import.meta.dirname, '../..')
const FULL = { HOLDFAST_TEST: 'full' }

/** Timers, async contexts, `node:sqlite`, sockets, signals and processes differ by Node. */
const OF_A_NODE = [
  ...['lease', 'locks', 'clock', 'embedded', 'opentelemetry'].map(
    (room) => `packages/holdfast/test/${room}/`,
  ),
  ...['run', 'supervise'].map((room) => `packages/holdfast/test/cli/${room}/`),
  ...STORES.filter(({ suite }) => !suite.onOneNode).flatMap(conformanceOf),
]

const LIBRARY = 'packages/holdfast/test/'
/** All but the command line, which is a part of its own. */
const ROOMS_OF_THE_LIBRARY = readdirSync(join(ROOT, LIBRARY), {
  withFileTypes: true,
})
  .filter((room) => room.isDirectory() && room.name !== 'cli')
  .map(({ name }) => name)

/** @type {readonly Part[]} */
export const PARTS = [
  {
    name: 'packages',
    minutes: 8,
    title:
      'the packed packages in every module system, compiler, test runner, framework and runtime',
    steps: [node('packages', 'scripts/packages/check.mjs')],
  },
  {
    name: 'website',
    minutes: 4,
    title: 'the site builds without a dead link, its search finds words, axe finds no obstacle',
    steps: [
      {
        title: 'installing the packages of the site',
        command: 'npm',
        args: ['ci', '--prefix', 'website', '--prefer-offline', '--no-audit', '--no-fund'],
      },
      npm('website', 'website'),
    ],
  },
  ...(NEWEST === 'none' ? [] : NEWEST_RUNS).map(({ name, servers, tests }) => ({
    name,
    minutes: 10,
    title: `the tests of each store on the newest ${servers.join(', ')}`,
    steps: [
      fetchNewest(...servers),
      testsOf(`tests on the newest ${servers.join(', ')}`, tests, {
        HOLDFAST_TEST: 'usual',
        HOLDFAST_NEWEST: servers.join(),
      }),
    ],
  })),
  part('library', 8, 'the runtime and each store’s own traps', [
    ...ROOMS_OF_THE_LIBRARY.map((room) => `${LIBRARY}${room}/`),
    'packages/conformance/test/',
  ]),
  part('command-line', 4, 'the command line and the lab', [`${LIBRARY}cli/`, 'packages/lab/']),
  part('integrations', 2, 'the frameworks and libraries that Holdfast is used with', [
    'packages/fastify/test/',
    'packages/nestjs/test/',
  ]),
  part('conformance', 29, 'the suite over each store, client library and topology', [
    'test/conformance/',
  ]),
  part(
    'together',
    9,
    'all stores or several packages, and the version before beside this one',
    [
      ...[
        'bench',
        'boot',
        'deadlocks',
        'docs',
        'examples',
        'frameworks',
        'lifetime',
        'migrate',
        'oversell',
        'rule',
        'schedules',
        'servers',
      ],
      ...['support', 'transaction', 'versions'],
    ].map((folder) => `test/${folder}/`),
  ),
  part('simulator', 15, 'the runtime in virtual time, broken locks and the state-space model', [
    ...['simulator', 'broken-locks', 'model'].map((folder) => `test/${folder}/`),
  ]),
  {
    name: 'torture',
    minutes: 11,
    title: 'each store and each mutation under real faults',
    steps: [
      // One of the faults stalls the disk of a newer etcd than Debian 12 has.
      ...(NEWEST === 'none' ? [] : [fetchNewest('etcd')]),
      testsOf('tests of the torture', ['test/torture/'], FULL),
    ],
  },
  ...OTHER_NODES.map((version) => ({
    name: `node-${version}`,
    minutes: 4,
    title: `what a Node’s version can change, on Node ${version}`,
    steps: [
      {
        ...onNode(version, 'scripts/test.mjs', ...OF_A_NODE),
        env: { HOLDFAST_TEST: 'usual' },
      },
    ],
  })),
]

/**
 * The files of the suite over a store: one, or one for each client library of every day.
 * @param {import('@holdfast/stores/descriptor').StoreDescriptor} store
 */
function conformanceOf({ name, service: { libraries } }) {
  const files = [name, ...libraries.daily.map((library) => `${name}-${library}`)]
  return files
    .map((file) => `test/conformance/${file}.test.ts`)
    .filter((file) => existsSync(join(ROOT, file)))
}

/**
 * @param {string} name @param {number} minutes @param {string} title
 * @param {readonly string[]} files parts of the paths of the test files
 * @returns {Part}
 */
function part(name, minutes, title, files) {
  return { name, minutes, title, steps: [testsOf(title, files, FULL)] }
}

/** @param {string} title @param {readonly string[]} files @param {NodeJS.ProcessEnv} env */
function testsOf(title, files, env) {
  return { ...node(title, 'scripts/test.mjs', ...files), env }
}

/** The versions move, so each run fetches the servers and prints which versions it found. */
function fetchNewest(/** @type {readonly string[]} */ ...servers) {
  return node(
    `fetching the newest ${servers.join(', ')}`,
    'verification/stores/dist/fetch-newest.js',
    ...servers,
  )
}

/** What must be there before any part, beside the build. */
export const PREPARATION = [node('what the tests need', 'scripts/needs.mjs')]
