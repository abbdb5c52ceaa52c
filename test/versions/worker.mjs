/**
 * A process of one version of the library: `holdfast` is the one of the folder that this file is
 * in. Requests come as JSON lines, and each is answered with one.
 */
import { openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openClient } from '@holdfast/servers/redis-clients'
import { createLocks, isLockError, systemClock, systemRandom } from 'holdfast'

// The previous version has the suite inside the library.
const { contend, formatEvent, Recorder } = await import('holdfast/conformance').catch(
  () => import('@holdfast/conformance'),
)

/** @type {Record<string, (...places: string[]) => unknown>} */
const STORES = {
  async embedded(directory) {
    const { embeddedStore } = await import('holdfast/embedded')
    return embeddedStore({ directory })
  },
  async redis(library, url) {
    const { redisStore } = await import('holdfast/redis')
    return redisStore({ client: openClient(/** @type {never} */ (library), url).client })
  },
  async redlock(...urls) {
    const { redlockStore } = await import('holdfast/redlock')
    const clients = urls.map(
      (url, index) => openClient(index % 2 ? 'redis6' : 'ioredis6', url).client,
    )
    return redlockStore({ clients })
  },
  async zookeeper(connect, tickMs) {
    const { zookeeperStore } = await import('holdfast/zookeeper')
    return zookeeperStore({ connect, tickMs: Number(tickMs) })
  },
  async etcd(...endpoints) {
    const { etcdStore } = await import('holdfast/etcd')
    return etcdStore({ endpoints })
  },
  async postgres(url, migrate) {
    const { postgresStore } = await import('holdfast/postgres')
    const { Pool } = await import('pg')
    const pool = new Pool({ connectionString: url, max: 4 })
    return postgresStore({ pool, autoMigrate: migrate === 'migrate' })
  },
  async mysql(uri, migrate) {
    const { mysqlStore } = await import('holdfast/mysql')
    const { createPool } = await import('mysql2/promise')
    return mysqlStore({
      pool: createPool({ uri, connectionLimit: 4 }),
      autoMigrate: migrate === 'migrate',
    })
  },
}

const [kind = '', ...places] = process.argv.slice(2)
const stop = new AbortController()
/** @type {Map<string, import('holdfast').Lease>} */
const leases = new Map()
/** @type {Promise<unknown>} */
let contention = Promise.resolve()
/** @type {import('holdfast').Locks | undefined} */
let locks

/** @param {{ kind: string, name: string, ttlMs: number, fairness?: 'fifo' }} lock */
async function lockOf({ kind: of, name, ttlMs, fairness }) {
  locks ??= createLocks(/** @type {never} */ (await STORES[kind]?.(...places)))
  const options = { ttlMs, ...(fairness ? { fairness } : {}) }
  if (of === 'reader') return locks.readWriteLock(name, options).read
  if (of === 'writer') return locks.readWriteLock(name, options).write
  if (of === 'semaphore') return locks.semaphore(name, { ...options, permits: 2 })
  return locks.mutex(name, options)
}

/** @type {Record<string, (request: any) => Promise<object>>} */
const COMMANDS = {
  async acquire({ as, lock, waitMs }) {
    const lease = await (await lockOf(lock)).acquire({ waitMs })
    leases.set(as, lease)
    return { held: true, token: lease.token === undefined ? undefined : String(lease.token) }
  },
  async release({ as }) {
    return { outcome: await leases.get(as)?.release() }
  },
  async held({ as }) {
    return { held: leases.get(as)?.held === true }
  },
  async contend({ history, contenders, workMs }) {
    const file = openSync(history, 'a')
    const write = (/** @type {any} */ event) => void writeSync(file, `${formatEvent(event)}\n`)
    const actors = contenders.map(
      async (/** @type {any} */ { lock, weight, capacity }, /** @type {number} */ index) => {
        const recorder = new Recorder(`${process.pid}-${index}`, write)
        const goesOn = () => !stop.signal.aborted
        const options = {
          recorder,
          clock: systemClock,
          random: systemRandom,
          workMs,
          goesOn,
          signal: stop.signal,
        }
        return contend({ lock: await lockOf(lock), weight, capacity, ...options })
      },
    )
    contention = Promise.all(actors)
    contention.catch(() => undefined)
    return {}
  },
  async stop() {
    stop.abort()
    const outcome = await contention.then(() => ({}), failed)
    await locks?.close({ graceMs: 0 })
    return outcome
  },
}

/** @param {unknown} error */
function failed(error) {
  return isLockError(error)
    ? { code: error.code, message: error.message }
    : { error: String(error) }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...request } = JSON.parse(line)
  // Not awaited: a wait must not stop what follows.
  void COMMANDS[request.ask]?.(request)
    .catch(failed)
    .then((answer) => process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`))
}
process.exit(0)
