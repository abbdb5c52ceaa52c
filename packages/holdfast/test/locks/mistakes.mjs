/**
 * Makes typical mistakes, and prints a line of JSON for each. It has the name of the mistake, the
 * line of this file that is to blame, and the stack of the error. With the argument `traced`, all
 * channels have subscribers, as under OpenTelemetry.
 */
import { tracingChannel } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { postgresStore } from 'holdfast/postgres'
import { redisStore } from 'holdfast/redis'
import { openStore } from 'holdfast/url'
import { Redis } from 'ioredis6'
import { Pool } from 'pg'

if (process.argv[2] === 'traced')
  for (const name of ['acquire', 'run', 'renew', 'release'])
    tracingChannel(`holdfast:${name}`).subscribe({ start: () => undefined })

const locks = createLocks(memoryStore())
const mutex = locks.mutex('order:42')
const work = async () => undefined
const lose = async (lease) => {
  await locks.steal('order:42')
  await lease.renew().catch(() => undefined)
}
const closed = createLocks(memoryStore())
await closed.close()

/** Each is async, so that a call that throws rejects as well. A comment marks the line. */
const MISTAKES = {
  async 'an unknown option'() {
    await mutex.acquire({ ttl: 1000 }) // here
  },
  async 'an unknown option of several locks'() {
    const both = locks.multi([mutex, locks.mutex('order:43')])
    await both.run(work, { ttlMs: '30s' }) // here
  },
  async 'a TTL as text'() {
    createLocks(memoryStore(), { ttlMs: '30s' }) // here
  },
  async 'a TTL as text, for one call'() {
    await mutex.run(work, { ttlMs: '30s' }) // here
  },
  async 'no callback'() {
    await mutex.run() // here
  },
  async 'a promise for a callback'() {
    await mutex.run(work()) // here
  },
  async 'a closed client'() {
    await closed.mutex('order:42').tryAcquire() // here
  },
  async 'the client of another library'() {
    redisStore({ client: new Pool() }) // here
  },
  async 'a timeout'() {
    const other = await mutex.acquire()
    try {
      await mutex.acquire({ waitMs: 50 }) // here
    } finally {
      await other.release()
    }
  },
  async 'a run that waits for too long'() {
    const other = await mutex.acquire()
    try {
      await mutex.run(work, { waitMs: 50 }) // here
    } finally {
      await other.release()
    }
  },
  async 'a deadlock'() {
    const [one, two] = [locks.mutex('one'), locks.mutex('two')]
    const orders = [
      [one, two],
      [two, one],
    ]
    const nested = orders.map(([outer, inner]) =>
      outer.run(async () => {
        await pause(50)
        await inner.run(work) // here
      }),
    )
    await Promise.all(nested)
  },
  async 'a run inside of itself'() {
    await mutex.run(async () => {
      await mutex.run(work) // here
    })
  },
  async 'a lease that is lost under a run'() {
    await mutex.run(lose) // here
  },
  async 'an unknown URL'() {
    await openStore('carrier-pigeon://localhost') // here
  },
  async 'an operation that the store does not support'() {
    const lease = await locks.mutex('exported').acquire()
    await lease.export() // here
  },
  async 'another number of permits'() {
    await locks.semaphore('resize', { permits: 2 }).acquire()
    await locks.semaphore('resize', { permits: 3 }).acquire() // here
  },
  async 'a Redis that is away'() {
    const client = new Redis({ port: 1, retryStrategy: () => null, maxRetriesPerRequest: 0 })
    client.on('error', () => undefined)
    await createLocks(redisStore({ client })).mutex('order:42').tryAcquire() // here
  },
  async 'a PostgreSQL that is away'() {
    const pool = new Pool({ host: '127.0.0.1', port: 1 }).on('error', () => undefined)
    await createLocks(postgresStore({ pool })).mutex('order:42').run(work, { waitMs: 50 }) // here
  },
}

const source = readFileSync(import.meta.filename, 'utf8').split('\n')

for (const [name, mistake] of Object.entries(MISTAKES)) {
  const start = source.findIndex((line) => line.includes(`async '${name}'`))
  const line = 1 + source.findIndex((text, at) => at > start && text.endsWith('// here'))
  const stack = await mistake().then(
    () => 'no error',
    (error) => error.stack,
  )
  process.stdout.write(`${JSON.stringify({ name, line, stack })}\n`)
}
process.exit()
