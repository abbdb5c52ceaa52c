/** Checks Redis servers: persistence, memory, replicas, clocks, and the rights of the user. */
import { aclRule } from '../../stores/redis/rule/acl.js'
import { diagnose, type RedisDiagnosis } from '../../stores/redis/diagnose.js'
import { redisStore } from '../../stores/redis/index.js'
import { findRedisLibrary, type Connection, type RedisLibrary } from '../../url/redis-library.js'
import { redisTarget, shownHost, type RedisHost, type RedisTarget } from '../../url/redis-url.js'
import { ConfigError } from '../cli-error.js'
import { libraryFolder } from '../stores/libraries.js'
import type { StoreLocation } from '../stores/locate.js'
import { primaryOf } from '../stores/redis-primary.js'
import { failure, ok, warning, type Finding } from './check.js'
import { exerciseRights } from './redis-rights.js'

/** Clocks that a time service keeps are closer together. */
const CLOCKS_APART_MS = 1000
/** The oldest version that the store is tried with, as 100 major + minor. */
const OLDEST = 602

export async function checkRedis({ url, modules }: StoreLocation): Promise<Finding[]> {
  const target = redisTarget(url)
  const library = await findRedisLibrary(libraryFolder(url, modules))
  const hosts = await serversOf(library, target)
  const found = await Promise.all(hosts.map((host) => checkServer(library, target, host)))
  if (hosts.length === 1) return found.flat()
  const sound = found.filter((findings) =>
    findings.every(({ verdict }) => verdict !== 'failure'),
  ).length
  const needed = target.kind === 'redlock' ? Math.floor(hosts.length / 2) + 1 : 1
  const isEnough = sound >= needed
  // With several servers each finding names its server, and a minority may fail.
  const named = found.flatMap((findings, index) => {
    const host = shownHost(hosts[index] as RedisHost)
    return findings.map(({ exitCode, ...finding }): Finding => {
      const text = `${host}: ${finding.text}`
      if (finding.verdict !== 'failure' || isEnough) {
        return { ...finding, text, verdict: finding.verdict === 'ok' ? 'ok' : 'warning' }
      }
      return { ...finding, text, ...(exitCode === undefined ? {} : { exitCode }) }
    })
  })
  const text = `${sound} of ${hosts.length} servers in the URL can be used, and ${needed} must be`
  return isEnough ? [...named, ok('majority', text)] : named
}

/** Returns the smallest ACL rule that works on the server of the URL, also as a command. */
export async function redisAcl({
  url,
  modules,
}: StoreLocation): Promise<{ readonly rule: string; readonly command: string }> {
  const target = redisTarget(url)
  const library = await findRedisLibrary(libraryFolder(url, modules))
  const [host] = await serversOf(library, target)
  if (host === undefined) throw new ConfigError('The URL of Redis names no server.')
  const { version, denied } = await connected(library, target, host, diagnoseIt)
  if (version === 'unknown') {
    throw new ConfigError(
      `The version of the server is not known: this user may not ask for it (${denied.join(', ')}).`,
    )
  }
  const prefix = target.prefix === undefined ? {} : { prefix: target.prefix }
  const rule = aclRule({
    version,
    ...prefix,
    cluster: target.kind === 'cluster',
    database: target.database,
  })
  return { rule, command: `ACL SETUSER holdfast on >PASSWORD ${rule}` }
}

/** Returns the servers of the URL; behind Sentinels the primary that they name. */
async function serversOf(
  library: RedisLibrary,
  target: RedisTarget,
): Promise<readonly RedisHost[]> {
  return target.kind === 'sentinel' ? [await primaryOf(library, target)] : target.hosts
}

async function checkServer(
  library: RedisLibrary,
  target: RedisTarget,
  host: RedisHost,
): Promise<Finding[]> {
  try {
    return await connected(library, target, host, async (connection) => {
      const facts = await diagnoseIt(connection, target)
      // In a Cluster a lock's keys live where its slot is, which the client of one server cannot
      // know.
      const isAlone = target.kind !== 'cluster' && facts.role !== 'slave'
      return [...describe(facts, target), ...(isAlone ? [await rights(connection, target)] : [])]
    })
  } catch (error) {
    return [failure('server', error)]
  }
}

async function connected<T>(
  library: RedisLibrary,
  target: RedisTarget,
  host: RedisHost,
  use: (connection: Connection, target: RedisTarget) => Promise<T>,
): Promise<T> {
  const connection = library.single(target, host)
  try {
    return await use(connection, target)
  } finally {
    connection.close()
  }
}

function diagnoseIt({ client }: Connection, { prefix }: RedisTarget): Promise<RedisDiagnosis> {
  return diagnose({ client, ...(prefix === undefined ? {} : { prefix }) })
}

async function rights({ client }: Connection, { prefix }: RedisTarget): Promise<Finding> {
  const store = redisStore({ client, ...(prefix === undefined ? {} : { prefix }) })
  try {
    await exerciseRights(store)
    return ok('rights', 'this user may do all that the store needs')
  } catch (error) {
    return failure('rights', error)
  } finally {
    await store.close()
  }
}

function describe(facts: RedisDiagnosis, target: RedisTarget): Finding[] {
  return [
    server(facts, target),
    memory(facts),
    persistence(facts),
    replicas(facts),
    clock(facts),
    keys(facts),
    ...(facts.denied.length === 0
      ? []
      : [
          warning(
            'rights',
            `this user may not look at everything: ${facts.denied.join(', ')} are refused`,
          ),
        ]),
  ]
}

function server(
  { product, version, mode, role, roundTripMs }: RedisDiagnosis,
  target: RedisTarget,
): Finding {
  const text = `${product} ${version}, ${mode}, ${role}, answered in ${roundTripMs.toFixed(1)} ms`
  if (role === 'slave' && target.kind !== 'cluster') {
    return failure('server', {
      code: 'STORE_CONFIG',
      message: `${text}: it is a replica, which takes no writes; connect to its primary`,
    })
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (product === 'redis' && major * 100 + minor < OLDEST) {
    return warning('server', `${text}: the store is tried with 6.2 and later`)
  }
  if (mode === 'cluster' && target.kind !== 'cluster') {
    return warning('server', `${text}: it is part of a Cluster; write redis+cluster:`)
  }
  return ok('server', text)
}

function memory({ evictionPolicy, maxMemoryBytes, evictedKeys }: RedisDiagnosis): Finding {
  if (evictionPolicy === undefined)
    return warning('memory', 'the policy for a full server is unknown')
  const limit =
    maxMemoryBytes === 0 ? 'no limit' : `at most ${Math.round(maxMemoryBytes / 1024 / 1024)} MB`
  const text = `maxmemory-policy ${evictionPolicy}, ${limit}`
  if (evictionPolicy === 'noeviction') return ok('memory', text)
  const evicted = evictedKeys > 0 ? ` (${evictedKeys} keys were evicted so far)` : ''
  return warning(
    'memory',
    `${text}: a full server evicts locks, and two clients can hold one${evicted}; set noeviction`,
  )
}

function persistence({ appendOnly, appendFsync, snapshots, savesWell }: RedisDiagnosis): Finding {
  if (!savesWell)
    return warning('persistence', 'the last attempt to save failed: look at the log of the server')
  if (appendOnly && appendFsync === 'always')
    return ok('persistence', 'append-only file, fsync always')
  if (appendOnly) {
    return ok(
      'persistence',
      `append-only file, fsync ${appendFsync ?? 'unknown'}: a crash of the machine forgets the last second, ` +
        'and only the fence protects what was granted in it',
    )
  }
  const kept =
    snapshots === undefined || snapshots === ''
      ? 'nothing is kept'
      : `snapshots only (${snapshots})`
  return warning(
    'persistence',
    `${kept}: a restart forgets locks that are held, and only the fence protects then; set appendonly yes`,
  )
}

function replicas({ replicas: count, minReplicas }: RedisDiagnosis): Finding {
  const least =
    minReplicas === undefined || minReplicas === 0 ? '' : `, and ${minReplicas} are needed to write`
  if (count === 0)
    return ok('replicas', `none follows${least}: the locks are down when this server is`)
  return ok('replicas', `${count} follow${least}: a failover can lose the latest grants`)
}

function clock({ clockOffsetMs, roundTripMs }: RedisDiagnosis): Finding {
  if (Number.isNaN(clockOffsetMs)) return warning('server time', 'it cannot be asked')
  const text = `${Math.abs(clockOffsetMs).toFixed(1)} ms ${clockOffsetMs < 0 ? 'behind' : 'ahead of'} this machine`
  return Math.abs(clockOffsetMs) > CLOCKS_APART_MS + roundTripMs
    ? warning(
        'server time',
        `${text}: one of the two is wrong, and leases end early or late when the server's is set right`,
      )
    : ok('server time', `${text}, give or take ${(roundTripMs / 2).toFixed(1)} ms`)
}

function keys({ foreignKeys }: RedisDiagnosis): Finding {
  if (foreignKeys.length === 0) return ok('keys', 'all under the prefix are of this store')
  const names = foreignKeys.map((key) => JSON.stringify(key)).join(', ')
  return warning(
    'keys',
    `another program uses ${names}: locks with these names cannot be acquired; use another prefix`,
  )
}
