/**
 * The tests of every store on the newest servers that Debian has, in two runs, since two servers
 * each can stand for one store. Their versions move: they are fetched each time, and what was found
 * is printed.
 */
import { step } from './steps.mjs'

const SQL = ['test/rule/', 'test/transaction/', 'test/oversell/', 'packages/holdfast/test/sql/']
const COMMAND_LINE = 'packages/cli/test/commands/'
const REDIS = [
  ...['redis', 'redlock'].flatMap((name) => [
    `test/conformance/${name}`,
    `packages/holdfast/test/${name}/`,
  ]),
  `${COMMAND_LINE}redis`,
]
const MYSQL = [
  ...['test/conformance/mysql', 'packages/holdfast/test/mysql/', `${COMMAND_LINE}databases`],
  ...SQL,
]

/** The servers, and parts of the paths of their tests. */
const RUNS = [
  {
    servers: ['etcd', 'zookeeper', 'redis', 'postgres', 'mysql'],
    tests: [
      'test/servers/',
      ...['etcd', 'zookeeper', 'postgres'].flatMap((name) => [
        `test/conformance/${name}`,
        `packages/holdfast/test/${name}/`,
      ]),
      ...['etcd', 'zookeeper'].map((name) => `${COMMAND_LINE}${name}.`),
      ...REDIS,
      ...MYSQL,
    ],
  },
  { servers: ['valkey', 'mariadb'], tests: ['test/servers/', ...REDIS, ...MYSQL] },
]

/**
 * @throws StepFailed when a server cannot be had, unless they are left out by choice, or when a
 * test failed.
 */
export async function testNewestServers() {
  if (process.env.HOLDFAST_NEWEST === 'none') {
    console.log('\n── newest servers\n   left out: HOLDFAST_NEWEST is none')
    return
  }
  await step('fetching the newest servers (HOLDFAST_NEWEST=none leaves them out)', 'node', [
    'verification/servers/dist/fetch-newest.js',
  ])
  for (const { servers, tests } of RUNS) {
    const env = { HOLDFAST_TEST: 'usual', HOLDFAST_NEWEST: servers.join() }
    await step(
      `tests on the newest ${servers.join(', ')}`,
      'node',
      ['scripts/test.mjs', ...tests],
      env,
    )
  }
}
