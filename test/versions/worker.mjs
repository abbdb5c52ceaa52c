/**
 * A process of one version of the library: `holdfast` is the one of the folder that this file is
 * in. Requests come as JSON lines, and each is answered with one.
 */
import { openSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { loadStore } from '@holdfast/stores/load'
import { createLocks, isLockError, systemClock, systemRandom } from 'holdfast'

// The previous version has the suite inside the library.
const { contend, formatEvent, Recorder } = await import('holdfast/conformance').catch(
  () => import('@holdfast/conformance'),
)

const [name = '', library, ...at] = process.argv.slice(2)
const { service } = await loadStore(name)
// From here, since the folder of the descriptors has this version of the library.
const load = (/** @type {string} */ store) => import(`holdfast/${store}`)
const opened = await service.open(at, { library, load, migrate: true })
const locks = createLocks(opened.store)
const stop = new AbortController()
/** @type {Map<string, import('holdfast').Lease>} */
const leases = new Map()
/** @type {Promise<unknown>} */
let contention = Promise.resolve()

/** @param {{ kind: string, name: string, ttlMs: number, fairness?: 'fifo' }} lock */
function lockOf({ kind, name, ttlMs, fairness }) {
  const options = { ttlMs, ...(fairness ? { fairness } : {}) }
  if (kind === 'reader') return locks.readWriteLock(name, options).read
  if (kind === 'writer') return locks.readWriteLock(name, options).write
  if (kind === 'semaphore') return locks.semaphore(name, { ...options, permits: 2 })
  return locks.mutex(name, options)
}

/** @type {Record<string, (request: any) => Promise<object>>} */
const COMMANDS = {
  async acquire({ as, lock, waitMs }) {
    const lease = await lockOf(lock).acquire({ waitMs })
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
        return contend({ lock: lockOf(lock), weight, capacity, ...options })
      },
    )
    contention = Promise.all(actors)
    contention.catch(() => undefined)
    return {}
  },
  async stop() {
    stop.abort()
    const outcome = await contention.then(() => ({}), failed)
    await locks.close({ graceMs: 0 })
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
