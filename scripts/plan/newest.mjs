/**
 * The tests of every store on the newest servers that Debian has. There are two runs, since some
 * stores have two kinds of server.
 */

const SQL = ['test/rule/', 'test/transaction/', 'test/oversell/', 'packages/holdfast/test/sql/']
const COMMAND_LINE = 'packages/holdfast/test/cli/commands/'
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
export const NEWEST_RUNS = [
  {
    name: 'newest',
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
  {
    name: 'newest-forks',
    servers: ['valkey', 'mariadb'],
    tests: ['test/servers/', ...REDIS, ...MYSQL],
  },
]
