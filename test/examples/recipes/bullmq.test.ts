/** One job at a time for each customer, on two workers over one Redis. */
import { eventually } from '@holdfast/servers/eventually'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { Queue, Worker, type Job } from 'bullmq'
import { createLocks, type Locks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { oneAtATime } from '../../../examples/jobs/one-at-a-time.mjs'
import { after } from '../../support/after.js'
import { aborted, Gate } from '../../support/gate.js'
import type { Held } from './web-servers.js'

type Work = (job: Job, held: Held) => Promise<unknown>

let redis: RedisServer
let queue: Queue
let name = ''
let count = 0

beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

beforeEach(() => {
  name = `queue-${(count += 1)}`
  queue = new Queue(name, { connection: { url: redis.url } })
  after(() => queue.close())
})

function connect(): Locks {
  const client = new Redis(redis.port)
  client.on('error', () => undefined)
  const locks = createLocks(redisStore({ client }))
  after(async () => {
    await locks.close()
    client.disconnect()
  })
  return locks
}

async function startWorker(locks: Locks, work: Work): Promise<Worker> {
  const processor = oneAtATime(locks, (job: Job) => `${name}:${job.name}`, work, { againMs: 50 })
  const worker = new Worker(name, processor, { connection: { url: redis.url }, concurrency: 4 })
  after(() => worker.close(true))
  await worker.waitUntilReady()
  return worker
}

test('no customer has two jobs at a time, and all jobs complete at their first attempt', async () => {
  const [running, most, tokens] = [
    new Map<string, number>(),
    new Map<string, number>(),
    new Map<string, bigint[]>(),
  ]
  const work: Work = async (job, { lease }) => {
    const now = (running.get(job.name) ?? 0) + 1
    running.set(job.name, now)
    most.set(job.name, Math.max(now, most.get(job.name) ?? 0))
    tokens.set(job.name, [...(tokens.get(job.name) ?? []), lease.token])
    await new Promise((resolve) => setTimeout(resolve, 5))
    running.set(job.name, now - 1)
  }
  const workers = [await startWorker(connect(), work), await startWorker(connect(), work)]
  let moved = 0
  for (const worker of workers)
    worker.on('active', (job) => void (moved += job.attemptsStarted > 1 ? 1 : 0))
  const customers = ['ada', 'bob', 'eve']
  await queue.addBulk(
    Array.from({ length: 30 }, (_, index) => ({ name: customers[index % 3] ?? '', data: {} })),
  )
  await eventually('all are done', async () => (await queue.getCompletedCount()) === 30, {
    withinMs: 60_000,
  })
  expect(moved).toBeGreaterThan(0)
  expect([...most.values()]).toEqual([1, 1, 1])
  for (const seen of tokens.values())
    expect(seen).toEqual(seen.toSorted((one, other) => (one < other ? -1 : 1)))
  const done = (await queue.getCompleted()) as Job[]
  expect(new Set(done.map(({ attemptsMade }) => attemptsMade))).toEqual(new Set([1]))
})

test('a busy job leaves the worker free for others, and comes again', async () => {
  const gate = new Gate()
  const seen: string[] = []
  const worker = await startWorker(connect(), async (job) => {
    seen.push(job.name)
    if (job.name === 'ada' && seen.length === 1) await gate.pass()
  })
  // Without a DelayedError the worker completes the job that was moved, which BullMQ reports.
  const errors: Error[] = []
  worker.on('error', (error) => errors.push(error))
  await queue.add('ada', {})
  await gate.reached
  const busy = await queue.add('ada', {})
  await eventually('it is delayed', async () => (await busy.getState()) === 'delayed')
  await queue.add('bob', {})
  await eventually('bob is served', () => seen.includes('bob'))
  gate.open()
  await eventually('it completes', async () => (await busy.getState()) === 'completed')
  expect(seen).toEqual(['ada', 'bob', 'ada'])
  expect(errors).toEqual([])
})

test('the signal joins those of the lease and of the job', async () => {
  const reasons: unknown[] = []
  const locks = connect()
  const worker = await startWorker(locks, async (job, { lease, signal }) => {
    if (job.name === 'cancelled') setImmediate(() => worker.cancelJob(job.id ?? '', 'of the test'))
    else {
      await locks.steal(`${name}:${job.name}`, { now: true })
      await lease.renew().catch(() => undefined)
    }
    reasons.push(await aborted(signal))
    throw new Error('stopped')
  })
  await queue.add('cancelled', {})
  await eventually('it stops', () => reasons.length === 1)
  await queue.add('stolen', {})
  await eventually('it stops', () => reasons.length === 2)
  expect(reasons).toEqual(['of the test', expect.objectContaining({ code: 'LOCK_LOST' })])
  await eventually('both failed', async () => (await queue.getFailedCount()) === 2)
  const states = await Promise.all(
    ['cancelled', 'stolen'].map((one) => locks.mutex(`${name}:${one}`).inspect()),
  )
  expect(states.map(({ holders }) => holders)).toEqual([[], []])
})

test('a store that is away fails the job, which BullMQ tries again', async () => {
  const other = await startRedis()
  after(() => other.stop())
  const client = new Redis(other.port, { retryStrategy: () => 100 })
  client.on('error', () => undefined)
  const locks = createLocks(redisStore({ client, requestTimeoutMs: 500 }))
  after(async () => {
    await locks.close()
    client.disconnect()
  })
  await client.ping()
  await startWorker(locks, async () => 'done')
  await other.kill()
  const job = await queue.add('ada', {}, { attempts: 20, backoff: { type: 'fixed', delay: 100 } })
  await eventually('it has failed once', async () => {
    const now = (await queue.getJob(job.id ?? '')) as Job
    return now.attemptsMade > 0
  })
  await other.start()
  await eventually('it completes', async () => (await job.getState()) === 'completed')
})

test('close waits for the job', async () => {
  const gate = new Gate()
  const locks = connect()
  const worker = await startWorker(locks, async (job, { lease }) => {
    expect(locks.assertHeld(`${name}:${job.name}`).token).toBe(lease.token)
    await gate.pass()
    return 'done'
  })
  const job = await queue.add('ada', {})
  await gate.reached
  const closed = worker.close().then(() => locks.close())
  gate.open()
  await closed
  expect(await job.getState()).toBe('completed')
})
