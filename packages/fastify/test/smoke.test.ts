/** Two applications over one Redis, as a service runs on two hosts. */
import { RequestLockError, holdfastFastify } from '@holdfast/fastify'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import Fastify from 'fastify'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { after } from '../../../test/support/after.js'
import { aborted, Gate } from '../../../test/support/gate.js'
import { startSite } from './support/site.js'
import { RawClient } from '../../../test/support/raw-client.js'

let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis()
})

afterAll(() => redis.stop())

function connectedStore() {
  const client = new Redis(redis.port)
  client.on('error', () => undefined)
  after(() => client.disconnect())
  return redisStore({ client, requestTimeoutMs: 2000 })
}

test('a busy lock answers 423, a client that leaves a POST aborts the signal, and a store that is away answers 503', async () => {
  const gate = new Gate()
  const seen: Promise<unknown>[] = []
  const first = await startSite(
    (app) =>
      app.post('/orders/:id', async (request) => {
        const lease = await request.lock('a')
        seen.push(aborted(lease.signal))
        await gate.pass()
        return { token: String(lease.token) }
      }),
    { plugin: { store: connectedStore(), label: 'first' } },
  )
  const second = Fastify()
  await second.register(holdfastFastify, { store: connectedStore() })
  second.post('/orders/:id', async (request) => {
    const lease = await request.lock('a')
    return { token: String(lease.token) }
  })
  after(() => second.close())

  const client = new RawClient(first.port)
  client.send('POST', '/orders/1', '{"amount":1}')
  await gate.reached
  const busy = await second.inject({ method: 'POST', url: '/orders/1' })
  expect(busy.statusCode).toBe(423)
  expect(busy.headers['retry-after']).toBe('1')
  expect(busy.json()).toEqual({
    statusCode: 423,
    code: 'LOCK_TIMEOUT',
    error: 'Locked',
    message: 'Another request is working on this resource. Try again later.',
  })

  client.leave()
  const reason = await seen[0]
  expect(reason).toBeInstanceOf(RequestLockError)
  expect(reason).toMatchObject({ code: 'CLIENT_DISCONNECTED', statusCode: 499 })
  expect((await second.inject({ method: 'POST', url: '/orders/1' })).statusCode).toBe(423)

  gate.open()
  await first.isFree()
  expect((await second.inject({ method: 'POST', url: '/orders/1' })).statusCode).toBe(200)

  await redis.kill()
  const away = await second.inject({ method: 'POST', url: '/orders/1' })
  expect(away.statusCode).toBe(503)
  expect(away.headers).not.toHaveProperty('retry-after')
  // Without a server each client would wait for its last answers before it closes.
  await redis.start()
})
