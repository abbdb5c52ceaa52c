/** What a client gets when its request cannot have the lock. */
import { RequestLockError } from '@holdfast/fastify'
import { eventually } from '@holdfast/servers/eventually'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { LockTimeoutError } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { describe, expect, test } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { RawClient } from '../../../../test/support/raw-client.js'
import { startSite } from '../support/site.js'

describe('a busy lock', () => {
  test.each([
    [{}, '1'],
    [{ retryAfterMs: 2500 }, '3'],
    [{ retryAfterMs: 0 }, '1'],
  ])('of a request with %j answers 423 with Retry-After %s', async (options, seconds) => {
    const { app } = await startSite((site) =>
      site.get('/', async (request) => void (await request.lock('a', options))),
    )
    await app.locks.mutex('a').acquire()
    const answer = await app.inject('/')
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([423, seconds])
  })

  test('has the Retry-After and the wait of the plugin', async () => {
    const { app, beside, hasWaiter } = await startSite(
      (site) =>
        site
          .get('/', async (request) => void (await request.lock('a')))
          .get('/once', async (request) => void (await request.lock('a', { waitMs: 0 }))),
      { plugin: { retryAfterMs: 60_000, waitMs: 60_000 } },
    )
    const lease = await beside.mutex('a').acquire()
    const waiting = app.inject('/')
    await hasWaiter()
    expect((await app.inject('/once')).headers['retry-after']).toBe('60')
    await lease.release()
    expect((await waiting).statusCode).toBe(200)
  })

  test('names neither lock nor holder to the client, and both to an error handler', async () => {
    let seen: unknown
    const { app } = await startSite((site) => {
      site.setErrorHandler((error, _request, reply) => {
        seen = error
        return reply.send(error)
      })
      site.get('/', async (request) => void (await request.lock('a', { waitMs: 1100 })))
    })
    await app.locks.mutex('a').acquire()
    const answer = await app.inject('/')
    expect(answer.statusCode).toBe(423)
    expect(answer.body).not.toMatch(/"a"|pid|held by/)
    expect(seen).toBeInstanceOf(RequestLockError)
    const { cause } = seen as { cause: LockTimeoutError }
    expect(cause).toBeInstanceOf(LockTimeoutError)
    expect(cause.lock).toBe('a')
    expect(cause.holders).toHaveLength(1)
  })

  test('that waiting callers fill answers 423', async () => {
    const { app, beside, hasWaiter } = await startSite(
      (site) =>
        site.get('/', async (request) => void (await request.lock('a', { waitMs: 60_000 }))),
      { plugin: { maxWaiters: 1 } },
    )
    const lease = await beside.mutex('a').acquire()
    const waiting = app.inject('/')
    await hasWaiter()
    const refused = await app.inject('/')
    expect(refused.json()).toMatchObject({ statusCode: 423, code: 'LOCK_QUEUE_FULL' })
    await lease.release()
    expect((await waiting).statusCode).toBe(200)
  })

  test('loses its waiter when the client disconnects', async () => {
    let ended: unknown
    const { port, beside, hasWaiter } = await startSite((site) =>
      site.post('/', async (request) => {
        ended = await request.lock('a', { waitMs: 60_000 }).catch((error: unknown) => error)
      }),
    )
    await beside.mutex('a').acquire()
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":1}')
    await hasWaiter()
    client.leave()
    await eventually(
      'it waits no more',
      async () => (await beside.mutex('a').inspect()).waiters.length === 0,
    )
    expect(ended).toMatchObject({ statusCode: 499, code: 'CLIENT_DISCONNECTED' })
  })

  test('ends its wait with the signal of the call', async () => {
    const { app } = await startSite((site) =>
      site.get('/', async (request) => {
        const signal = AbortSignal.abort(new Error('of the call'))
        await request.lock('a', { waitMs: 60_000, signal })
      }),
    )
    expect((await app.inject('/')).json()).toMatchObject({
      statusCode: 500,
      message: 'of the call',
    })
  })
})

async function startOn(redis: RedisServer, waitMs: number) {
  const client = new Redis(redis.port, { retryStrategy: () => 100 })
  client.on('error', () => undefined)
  after(() => client.disconnect())
  const store = redisStore({ client, requestTimeoutMs: 1000 })
  const { app } = await startSite(
    (site) => site.get('/', async (request) => void (await request.lock('b', { waitMs }))),
    { plugin: { store } },
  )
  await app.locks.ping()
  return app
}

describe('a store that is away', () => {
  test.each([
    ['is gone', 0],
    ['is gone', 1500],
    ['does not answer', 0],
    ['does not answer', 200],
    ['does not answer', 1500],
  ])('since it %s answers 503 to a request that waits %d ms', async (how, waitMs) => {
    const redis = await startRedis()
    after(() => redis.stop())
    const app = await startOn(redis, waitMs)
    if (how === 'is gone') await redis.kill()
    else redis.pause()
    const answer = await app.inject('/')
    expect(answer.json()).toMatchObject({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'The lock service is not available. Try again later.',
    })
    expect(answer.body).not.toContain(String(redis.port))
    if (how === 'is gone') await redis.start()
    else redis.resume()
  })
})

test('a closing application answers 503', async () => {
  const { app } = await startSite((site) =>
    site.get('/', async (request) => void (await request.lock('a'))),
  )
  await app.locks.close()
  expect((await app.inject('/')).json()).toMatchObject({ statusCode: 503, code: 'LOCKS_CLOSED' })
})

test('an error that is none of a lock stays as it is', async () => {
  const { app } = await startSite((site) =>
    site.get('/', async (request) => void (await request.lock('a', { ttlMs: 1 }))),
  )
  expect((await app.inject('/')).json()).toMatchObject({ statusCode: 500, code: 'LOCK_USAGE' })
})
