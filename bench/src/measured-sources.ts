/**
 * What each recorded result measures, as folders from the root of the repository. A change there
 * makes the result old. `older-results.ts` names such results.
 */

const inLibrary = (...folders: readonly string[]): string[] =>
  folders.map((folder) => `packages/holdfast/src/${folder}`)

const COMMON = inLibrary(
  ...['async', 'clock', 'collections', 'in-doubt', 'lease', 'locks', 'options', 'store'],
)
const store = (...folders: readonly string[]): readonly string[] => [
  ...COMMON,
  ...inLibrary(...folders.map((folder) => `stores/${folder}`)),
]

const EMBEDDED = store('embedded')
const POSTGRES = store('sql', 'postgres')
const ZOOKEEPER = store('coordination', 'zookeeper')

/** By the name of the result's file in `bench/results/`. */
export const MEASURED_SOURCES: Readonly<Record<string, readonly string[]>> = {
  builds: store('memory', 'embedded', 'redis', 'redlock', 'sql', 'postgres'),
  check: ['packages/conformance/src'],
  // A start loads the whole command, and opens a store.
  cli: ['packages/holdfast/src'],
  console: [...inLibrary('console', 'cli/commands'), ...store('redis')],
  embedded: EMBEDDED,
  'embedded-files': EMBEDDED,
  etcd: store('coordination', 'etcd'),
  foreign: store('redis', 'coordination', 'etcd', 'zookeeper'),
  held: ZOOKEEPER,
  lab: ['packages/lab/src', ...POSTGRES],
  memory: store('memory'),
  mysql: store('sql', 'mysql'),
  postgres: POSTGRES,
  redis: store('redis'),
  redlock: store('redis', 'redlock'),
  zookeeper: ZOOKEEPER,
}
