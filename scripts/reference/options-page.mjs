/** The page of all options, from the interfaces of the sources. */
import { membersOf } from './interfaces.mjs'

/** @typedef {{ title: string, file: string, name: string, and?: string }} Table */

const LIBRARY = 'packages/holdfast/src'
/** An interface for simulations has no place among what programs set. */
const LEFT_OUT = ['clock', 'random']

/** @type {readonly Table[]} */
export const TABLES = [
  table('`createLocks`', 'options/lock-options.ts', 'LocksOptions', 'the options of a lock'),
  table('A lock', 'options/lock-options.ts', 'LockOptions'),
  table('`semaphore`', 'locks/semaphore.ts', 'SemaphoreOptions', 'the options of a lock'),
  table('`striped`', 'locks/striped.ts', 'StripedOptions', 'the options of a lock'),
  table(
    '`acquire`, `tryAcquire`',
    'options/lock-options.ts',
    'WaitOptions',
    '`ttlMs`, `renew`, `maxHoldMs` and `abortBeforeMs`',
  ),
  table('`run`', 'options/lock-options.ts', 'RunOptions', 'those of `acquire`, and `awaitRelease`'),
  table('`lease.renew`', 'lease/hold/lease.ts', 'RenewOptions'),
  table('`election.lead`', 'locks/election.ts', 'LeadOptions'),
  table('`oncePerTick`', 'locks/once-per-tick.ts', 'TickOptions'),
  table('`singleFlight`', 'locks/single-flight.ts', 'SingleFlightOptions', 'those of `acquire`'),
  table('`inspect`', 'locks/inspect-locks.ts', 'InspectOptions'),
  table('`steal`', 'locks/steal.ts', 'StealLockOptions'),
  table('`close`', 'locks/close.ts', 'CloseOptions'),
  table('`memoryStore`', 'stores/memory/index.ts', 'MemoryStoreOptions'),
  table('`embeddedStore`', 'stores/embedded/options.ts', 'EmbeddedStoreOptions'),
  table('`redisStore`', 'stores/redis/options.ts', 'RedisStoreOptions'),
  table('`redlockStore`', 'stores/redlock/index.ts', 'RedlockStoreOptions'),
  table('`postgresStore`', 'stores/postgres/index.ts', 'PostgresStoreOptions'),
  table('`mysqlStore`', 'stores/mysql/index.ts', 'MysqlStoreOptions'),
  table('`etcdStore`', 'stores/etcd/connection/endpoints.ts', 'EtcdOptions'),
  table('`zookeeperStore`', 'stores/zookeeper/options.ts', 'ZooKeeperOptions'),
  table('`fence`', 'fence/index.ts', 'FenceOptions'),
]

const HEAD = `# All options

Each call with the options that it alone takes, from the docstrings of the sources. **Bold** is
needed. [Options](../guide/options.md) says how they play together.
`

export function optionsPage() {
  const parts = TABLES.map(({ title, file, name, and }) => {
    const members = membersOf(file, name).filter((one) => !LEFT_OUT.includes(one.name))
    const rows = members.map(
      (member) => `| ${nameOf(member)} | ${cell(member.type)} | ${escaped(member.text)} |`,
    )
    const beside = and === undefined ? '' : `Also ${and}.\n\n`
    return `## ${title}\n\n${beside}| option | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  return [HEAD, ...parts].join('\n')
}

/**
 * @param {string} title @param {string} path @param {string} name @param {string} [and]
 * @returns {Table}
 */
function table(title, path, name, and) {
  return { title, file: `${LIBRARY}/${path}`, name, and }
}

/** @param {import('./interfaces.mjs').Member} member */
function nameOf({ name, isNeeded }) {
  return isNeeded ? `**\`${name}\`**` : `\`${name}\``
}

/** @param {string} type */
function cell(type) {
  return `\`${escaped(type)}\``
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('|', '\\|')
}
