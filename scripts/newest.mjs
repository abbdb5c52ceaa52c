/**
 * Runs the tests of every store on the newest servers that Debian has. There are two runs, since
 * some stores have two kinds of server. The versions move, so each run fetches the servers and
 * prints which versions it found.
 */
import { runEach, runStep } from './steps.mjs'

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
 * @throws StepFailed when a server cannot be fetched or a test failed.
 */
export async function testNewestServers() {
  if (process.env.HOLDFAST_NEWEST === 'none') {
    console.log('\n── newest servers\n   left out: HOLDFAST_NEWEST is none')
    return
  }
  await runStep({
    title: 'fetching the newest servers (HOLDFAST_NEWEST=none leaves them out)',
    command: 'node',
    args: ['verification/servers/dist/fetch-newest.js'],
  })
  const runs = RUNS.map(({ servers, tests }) => {
    return () =>
      runStep({
        title: `tests on the newest ${servers.join(', ')}`,
        command: 'node',
        args: ['scripts/test.mjs', ...tests],
        env: { HOLDFAST_TEST: 'usual', HOLDFAST_NEWEST: servers.join() },
      })
  })
  await runEach(runs)
}
