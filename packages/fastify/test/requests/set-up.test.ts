/** The error of a wrong set-up names the cure. */
import { holdfastFastify } from '@holdfast/fastify'
import { eventually } from '@holdfast/servers/eventually'
import Fastify, { type FastifyInstance } from 'fastify'
import { LockUsageError } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { expect, test } from 'vitest'
import { after } from '../../../../test/support/after.js'

const CURE = /Write "await app\.register\(holdfastFastify, \{ store:/

function newApp(): FastifyInstance {
  const app = Fastify()
  after(() => app.close())
  return app
}

async function lockIn(app: FastifyInstance, url = '/'): Promise<string> {
  const answer = await app.inject(url)
  expect(answer.statusCode).toBe(500)
  return answer.json<{ message: string }>().message
}

test('without a store', async () => {
  const registered = newApp().register(holdfastFastify, {} as never)
  await expect(registered).rejects.toThrow(LockUsageError)
  await expect(newApp().register(holdfastFastify, {} as never)).rejects.toThrow(
    '@holdfast/fastify needs a store: await app.register(holdfastFastify, { store:',
  )
  const other = newApp().register(holdfastFastify, { store: { url: 'redis:' } } as never)
  await expect(other).rejects.toThrow('createLocks needs a store')
})

test.each([
  [{ ttl: 5 }, 'Did you mean "ttlMs"?'],
  [{ retryAfterMs: '1s' }, 'retryAfterMs must be a number of milliseconds, not 1s.'],
  [{ closeGraceMs: -1 }, 'closeGraceMs must be a number of milliseconds, not -1.'],
])('with the options %j', async (options, message) => {
  const given = { store: memoryStore(), ...options } as never
  await expect(newApp().register(holdfastFastify, given)).rejects.toThrow(message)
})

test('registered twice', async () => {
  const app = newApp()
  await app.register(holdfastFastify, { store: memoryStore() })
  const again = app.register(async (scope) => {
    await scope.register(holdfastFastify, { store: memoryStore() })
  })
  await expect(again).rejects.toThrow('Register @holdfast/fastify once')
})

test('registered in two scopes beside each other, each has its own', async () => {
  const app = newApp()
  for (const prefix of ['/one', '/two'])
    await app.register(
      async (scope) => {
        await scope.register(holdfastFastify, { store: memoryStore() })
        scope.get('/', async (request) => (await request.lock('a')).held)
      },
      { prefix },
    )
  expect((await app.inject('/one')).body).toBe('true')
  expect((await app.inject('/two')).body).toBe('true')
  expect(app.hasDecorator('locks')).toBe(false)
})

test('a route before the plugin', async () => {
  const app = newApp()
  // Without an await the plugin is loaded after the route.
  void app.register(holdfastFastify, { store: memoryStore() })
  app.get('/orders/:id', (request) => request.lock('a'))
  await app.ready()
  const message = await lockIn(app, '/orders/7')
  expect(message).toContain('the handler of GET /orders/:id')
  expect(message).toMatch(CURE)
})

test('a hook before the plugin', async () => {
  const app = newApp()
  app.addHook('onRequest', (request) => request.lock('a').then(() => undefined))
  await app.register(holdfastFastify, { store: memoryStore() })
  app.get('/', () => 'never')
  expect(await lockIn(app)).toMatch(CURE)
})

test('a request without a route', async () => {
  const app = newApp()
  await app.register(holdfastFastify, { store: memoryStore() })
  app.setNotFoundHandler((request) => request.lock('a'))
  expect(await lockIn(app, '/none')).toContain('request.lock works in routes')
})

test.each([undefined, null, 7, {}])('a lock that is %s', async (lock) => {
  const app = newApp()
  await app.register(holdfastFastify, { store: memoryStore() })
  app.get('/', (request) => request.lock(lock as never))
  expect(await lockIn(app)).toContain('request.lock takes the name of a mutex, or a lock')
})

test('one name twice in a request', async () => {
  const app = newApp()
  await app.register(holdfastFastify, { store: memoryStore() })
  app.get('/', async (request) => {
    await request.lock('a')
    await request.lock('a', { waitMs: 60_000 })
  })
  app.get('/beside', (request) => Promise.all([request.lock('a'), request.lock('a')]))
  expect(await lockIn(app)).toContain(
    'GET / asked for the lock "a" already in the same request: use the lease of its first call.',
  )
  expect(await lockIn(app, '/beside')).toContain('GET /beside asked for the lock "a" already')
  await eventually('it is free', async () => {
    const { holders } = await app.locks.mutex('a').inspect()
    return holders.length === 0
  })
})

test('unknown options of a call', async () => {
  const app = newApp()
  await app.register(holdfastFastify, { store: memoryStore() })
  app.get('/', (request) => request.lock('a', { wait: 5 } as never))
  app.get('/text', (request) => request.lock('a', { retryAfterMs: 'soon' } as never))
  expect(await lockIn(app)).toMatch(/There is no option "wait" .* Did you mean "waitMs"\?/)
  expect(await lockIn(app, '/text')).toContain('retryAfterMs must be a number of milliseconds')
})

test('Fastify refuses the plugin in other versions than 5', () => {
  const meta = Reflect.get(holdfastFastify, Symbol.for('plugin-meta')) as unknown
  expect(meta).toEqual({ fastify: '5.x', name: '@holdfast/fastify' })
})
