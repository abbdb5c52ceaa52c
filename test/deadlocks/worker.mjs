/**
 * A process that takes one lock inside another.
 *
 * Its argument is JSON: `{ store, at, label, outer, inner }`. It prints `holds` when it holds the
 * outer lock, waits for a line, takes the inner lock, and prints how that ended as JSON. After the
 * line `go behind a waiter` it takes the inner lock once another process waits for that.
 */
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks } from 'holdfast'

const { store, at, label, outer, inner } = JSON.parse(process.argv[2])
const { open, end } = await openStore(store, at)
const locks = createLocks(open, { label })
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const outcome = await lockOf(outer)
  .run(async () => {
    process.stdout.write('holds\n')
    const { value: line } = await lines.next()
    if (inner === undefined) return { outcome: 'done' }
    if (line === 'go behind a waiter') await waiterOf(lockOf(inner))
    const startMs = performance.now()
    try {
      await lockOf(inner).run(() => undefined)
    } catch (error) {
      const tookMs = performance.now() - startMs
      return { outcome: error.code, lock: error.lock, cycle: error.cycle, tookMs }
    }
    return { outcome: 'done' }
  })
  .catch((error) => ({ outcome: String(error) }))
process.stdout.write(`${JSON.stringify(outcome)}\n`)
await locks.close()
await end()
process.exit(0)

async function waiterOf(lock) {
  while (!((await lock.inspect())?.waiters.length > 0)) await pause(20)
}

function lockOf({ kind, name, permits, weight, others }) {
  switch (kind) {
    case 'read':
      return locks.readWriteLock(name).read
    case 'write':
      return locks.readWriteLock(name).write
    case 'permits':
      return locks.semaphore(name, { permits }).withWeight(weight)
    case 'multi':
      return locks.multi([name, ...others].map((one) => locks.mutex(one)))
    default:
      return locks.mutex(name)
  }
}

async function openStore(name, at) {
  switch (name) {
    case 'redis': {
      const [{ Redis }, { redisStore }] = await Promise.all([
        import('ioredis6'),
        import('holdfast/redis'),
      ])
      const client = new Redis(at)
      return { open: redisStore({ client }), end: () => client.quit() }
    }
    case 'postgres': {
      const [{ default: pg }, { postgresStore }] = await Promise.all([
        import('pg'),
        import('holdfast/postgres'),
      ])
      const pool = new pg.Pool({ connectionString: at })
      return { open: postgresStore({ pool, autoMigrate: true }), end: () => pool.end() }
    }
    default: {
      const { embeddedStore } = await import('holdfast/embedded')
      return { open: embeddedStore({ directory: at }), end: () => undefined }
    }
  }
}
