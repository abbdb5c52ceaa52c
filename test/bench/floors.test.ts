/** The floors of the benchmarks on real servers: each excludes, and grants after a release. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { startEtcd } from '@holdfast/servers/etcd'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { Redis } from 'ioredis5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDelayingProxy } from '../../bench/dist/delaying-proxy.js'
import { openFloor } from '../../bench/dist/floors/open-floor.js'
import {
  FloorBatches,
  redisRunFloor,
  redlockFloor,
  throughIoredis,
  type ScriptRunner,
} from '../../bench/dist/floors/redis.js'
import { redisOwnCalls, redisOwnRuns } from '../../bench/dist/floors/redis-own-calls.js'
import { throughSocket } from '../../bench/dist/floors/redis-socket.js'
import type { Locker } from '../../bench/dist/locker.js'

let server: RedisServer
let client: Redis

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})

afterAll(async () => {
  client.disconnect()
  await server.stop()
})

async function expectExclusion(locker: Locker): Promise<void> {
  const acquire = locker('excluded')
  const release = await acquire()
  await expect(acquire()).rejects.toThrow()
  await release()
  await (
    await acquire()
  )()
}

test.each([
  ['ioredis', () => throughIoredis(client)],
  ['a bare socket', () => throughSocket(server.port)],
])('over %s a lock is granted once, and tokens grow', async (_, runner) => {
  const batches = new FloorBatches(runner())
  const name = `floor of ${_}`
  const first = await batches.acquire(name, 'first')
  await expect(batches.acquire(name, 'second')).rejects.toThrow('A free lock was busy.')
  await batches.release(name, 'second')
  await expect(batches.acquire(name, 'third')).rejects.toThrow('A free lock was busy.')
  await batches.release(name, 'first')
  expect(await batches.acquire(name, 'fourth')).toBeGreaterThan(first)
})

test.each([
  ['ioredis', () => throughIoredis(client)],
  ['a bare socket', () => throughSocket(server.port)],
])('the calls of Holdfast by hand over %s exclude, alone and together', async (library, runner) => {
  const locker = redisOwnCalls(runner())
  const acquirers = ['a', 'b', 'c'].map((name) => locker(`${name} over ${library}`))
  for (let round = 0; round < 3; round += 1) {
    const releases = await Promise.all(acquirers.map((acquire) => acquire()))
    const outcomes = await Promise.all(releases.map((release) => release()))
    expect(outcomes).toEqual(Array(3).fill('released'))
  }
  const [alone = locker('alone')] = acquirers
  await (
    await alone()
  )()
  await alone()
  await expect(alone()).rejects.toThrow('A free lock was not to be had')
})

test('the requests of one tick travel in a call of 16, and then in larger ones', async () => {
  const batches = new FloorBatches(throughIoredis(client))
  await batches.acquire('loaded', 'id')
  const before = await server.scriptCalls()
  const names = Array.from({ length: 16 + 128 + 7 }, (_, index) => `tick ${index}`)
  const tokens = await Promise.all([
    batches.release('loaded', 'id'),
    ...names.map((name) => batches.acquire(name, 'id')),
  ])
  expect(Math.min(...tokens)).toBeGreaterThan(1e15)
  expect((await server.scriptCalls()) - before).toBe(3)
})

test('a release that is not awaited travels with the next attempt', async () => {
  const acquire = redisRunFloor(throughIoredis(client))('run')
  const release = await acquire()
  const before = await server.scriptCalls()
  await release()
  await acquire()
  expect((await server.scriptCalls()) - before).toBe(1)
})

test('of the calls of a run by hand each release but the last travels with an attempt', async () => {
  const run = redisOwnRuns(throughIoredis(client))('own runs')
  await run()
  const before = await server.scriptCalls()
  for (let round = 0; round < 3; round += 1) await run()
  expect((await server.scriptCalls()) - before).toBe(3 + 1)
})

/** Answers each call with this, or never. */
function runnerOf(reply: number | undefined): ScriptRunner {
  const answer = reply === undefined ? new Promise(() => undefined) : Promise.resolve(reply)
  return { load: () => Promise.resolve('sha'), run: () => answer }
}

test('each step of the floor of Redlock ends at a majority, and not before', async () => {
  const [willing, silent] = [runnerOf(1), runnerOf(undefined)]
  const release = await redlockFloor([willing, willing, silent])('lock')()
  await release()
  const lonely = redlockFloor([willing, silent, silent])('lock')()
  const later = new Promise((resolve) => setTimeout(resolve, 20, 'later'))
  expect(await Promise.race([lonely, later])).toBe('later')
})

test('the floor of Redlock excludes', async () => {
  const others = await Promise.all([startRedis(), startRedis()])
  const clients = others.map(({ port }) => new Redis(port))
  await expectExclusion(redlockFloor([client, ...clients].map(throughIoredis)))
  for (const one of clients) one.disconnect()
  await Promise.all(others.map((one) => one.stop()))
})

test('the floor of etcd excludes', async () => {
  const cluster = await startEtcd()
  try {
    await expectExclusion(await openFloor('etcd', cluster.endpoints.join()))
  } finally {
    await cluster.stop()
  }
})

test('the floor of ZooKeeper excludes', async () => {
  const ensemble = await startZooKeeper()
  try {
    await expectExclusion(await openFloor('zookeeper', ensemble.connect))
  } finally {
    await ensemble.stop()
  }
})

/** Answers each of its connections with these bytes, one after the other. */
async function serverOf(answer: string): Promise<Server> {
  const answering = createServer((socket: Socket) => {
    socket.setNoDelay(true)
    const writeFrom = (at: number): void => {
      if (at === answer.length) return
      // The client reads it before the next one is written.
      socket.write(answer.charAt(at), () => setImmediate(() => setImmediate(writeFrom, at + 1)))
    }
    socket.once('data', () => writeFrom(0))
    socket.on('error', () => undefined)
  })
  answering.listen(0, '127.0.0.1')
  await once(answering, 'listening')
  return answering
}

test('a reply that arrives byte by byte is read whole', async () => {
  const answering = await serverOf('$3\r\nsha\r\n:42\r\n-ERR refused\r\n')
  const runner = throughSocket((answering.address() as AddressInfo).port)
  const replies = [runner.load('source'), runner.run('sha', ['key'], []), runner.run('sha', [], [])]
  expect(await Promise.all(replies.slice(0, 2))).toEqual(['sha', 42])
  await expect(replies[2]).rejects.toThrow('ERR refused')
  answering.close()
})

test('through the delaying proxy an answer takes the round trip, and keeps its order', async () => {
  const proxy = await startDelayingProxy(server.port, 20)
  const far = new Redis(proxy.port)
  await far.ping()
  const startMs = performance.now()
  const answers = await Promise.all(['one', 'two', 'three'].map((text) => far.echo(text)))
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(20)
  expect(answers).toEqual(['one', 'two', 'three'])
  far.disconnect()
  await proxy.stop()
})
