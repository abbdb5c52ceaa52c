/** Handlers with callbacks, hijacked replies, hooks, time limits, inject, and a closing server. */
import { eventually } from '@holdfast/servers/eventually'
import { describe, expect, test } from 'vitest'
import { RawClient } from '../../../../test/support/raw-client.js'
import { aborted, Gate } from '../../../../test/support/gate.js'
import { startSite } from '../support/site.js'

test('a handler with callbacks keeps the lock of a client that left until it replies', async () => {
  const gate = new Gate()
  let reason: Promise<unknown> | undefined
  const { port, isHeld, isFree } = await startSite((app) =>
    app.post('/', (request, reply) => {
      request
        .lock('a')
        .then((lease) => {
          reason = aborted(lease.signal)
          return gate.pass()
        })
        .then(() => reply.send('done'), reply.send)
    }),
  )
  const client = new RawClient(port)
  client.send('POST', '/', '{"x":1}')
  await gate.reached
  client.leave()
  await reason
  expect(await isHeld()).toBe(true)
  gate.open()
  await isFree()
})

describe('a hijacked reply', () => {
  test.each(['finishes', 'loses its client'])('frees the lock when it %s', async (how) => {
    const gate = new Gate()
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request, reply) => {
        await request.lock('a')
        reply.hijack()
        reply.raw.write('HTTP by hand')
        void gate.pass().then(() => reply.raw.end('the end'))
      }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await client.receives('HTTP by hand')
    expect(await isHeld()).toBe(true)
    if (how === 'finishes') gate.open()
    else client.leave()
    await isFree()
  })

  test('keeps the lock until its handler has settled', async () => {
    const gate = new Gate()
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request, reply) => {
        await request.lock('a')
        reply.hijack()
        reply.raw.end('the end')
        await gate.pass()
      }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await client.receives('the end')
    expect(await isHeld()).toBe(true)
    gate.open()
    await isFree()
  })

  test('of a hook frees the lock when it finishes', async () => {
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get(
        '/',
        {
          async preHandler(request, reply) {
            await request.lock('a')
            reply.hijack()
            reply.raw.end('the end')
          },
        },
        () => 'never',
      ),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await client.receives('the end')
    await isFree()
    expect(await isHeld()).toBe(false)
  })
})

describe('a lock that a hook takes', () => {
  test('lasts through the handler, which starts after its client has left', async () => {
    const [hook, handler] = [new Gate(), new Gate()]
    let reason: Promise<unknown> | undefined
    const { port, isHeld, isFree } = await startSite((app) =>
      app.post(
        '/',
        {
          async preHandler(request) {
            const lease = await request.lock('a')
            reason = aborted(lease.signal)
            await hook.pass()
          },
        },
        () => handler.pass(),
      ),
    )
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":1}')
    await hook.reached
    client.leave()
    await reason
    expect(await isHeld()).toBe(true)
    hook.open()
    await handler.reached
    expect(await isHeld()).toBe(true)
    handler.open()
    await isFree()
  })

  test.each(['replies', 'throws'])('is released when the hook itself %s', async (how) => {
    const { app, isFree } = await startSite((site) =>
      site.get(
        '/',
        {
          async preHandler(request, reply) {
            await request.lock('a')
            if (how === 'throws') throw new Error('of the hook')
            return reply.code(204).send()
          },
        },
        () => 'never',
      ),
    )
    expect((await app.inject('/')).statusCode).toBe(how === 'throws' ? 500 : 204)
    await isFree()
  })

  test('is released when the client leaves before its body has come', async () => {
    const { app, port, isHeld, isFree } = await startSite((site) => {
      site.addHook('onRequest', async (request) => void (await request.lock('a')))
      site.post('/', () => 'never')
    })
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":', 100)
    await eventually('the request has its lock', isHeld)
    client.leave()
    await isFree()
    expect(app.server.listening).toBe(true)
  })
})

test('handlerTimeout answers 503 and aborts the signal, and the lock stays until the handler has settled', async () => {
  const gate = new Gate()
  let reason: Promise<unknown> | undefined
  const { app, isHeld, isFree } = await startSite((site) =>
    site.post('/', { handlerTimeout: 50 }, async (request) => {
      const lease = await request.lock('a')
      reason = aborted(lease.signal)
      await gate.pass()
    }),
  )
  const answer = await app.inject({ method: 'POST', url: '/', payload: { x: 1 } })
  expect(answer.statusCode).toBe(503)
  expect(await reason).toMatchObject({ code: 'FST_ERR_HANDLER_TIMEOUT' })
  expect(await isHeld()).toBe(true)
  gate.open()
  await isFree()
})

describe('inject', () => {
  test.each(['GET', 'POST', 'HEAD'] as const)('%s frees the lock', async (method) => {
    const { app, isFree } = await startSite((site) =>
      site.route({
        method: ['GET', 'POST', 'HEAD'],
        url: '/',
        async handler(request) {
          const lease = await request.lock('a')
          return `held ${lease.held}, aborted ${lease.signal.aborted}`
        },
      }),
    )
    const answer = await app.inject({ method, url: '/' })
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toBe(method === 'HEAD' ? '' : 'held true, aborted false')
    await isFree()
  })

  test('that is aborted aborts the signal', async () => {
    const [gate, leaves] = [new Gate(), new AbortController()]
    let reason: Promise<unknown> | undefined
    const { app, isHeld, isFree } = await startSite((site) =>
      site.get('/', async (request) => {
        const lease = await request.lock('a')
        reason = aborted(lease.signal)
        await gate.pass()
      }),
    )
    const answer = app.inject({ url: '/', signal: leaves.signal }).catch((error: unknown) => error)
    await gate.reached
    leaves.abort()
    await answer
    expect(await reason).toMatchObject({ code: 'CLIENT_DISCONNECTED' })
    expect(await isHeld()).toBe(true)
    gate.open()
    await isFree()
  })
})

describe('close', () => {
  test('aborts the signals of handlers that still work, and waits for them', async () => {
    const gate = new Gate()
    let reason: Promise<unknown> | undefined
    const { app, isHeld, isFree } = await startSite((site) =>
      site.get('/', async (request) => {
        const lease = await request.lock('a')
        reason = aborted(lease.signal)
        await gate.pass()
        return 'done'
      }),
    )
    const answer = app.inject('/')
    await gate.reached
    const closed = app.close()
    expect(await reason).toMatchObject({ code: 'LOCKS_CLOSED' })
    expect(await isHeld()).toBe(true)
    gate.open()
    await Promise.all([answer, closed])
    await isFree()
  })

  test('leaves the lock of a handler that does not end in time to its TTL', async () => {
    const gate = new Gate()
    const { app, isHeld, isFree } = await startSite(
      (site) =>
        site.get('/', async (request) => {
          await request.lock('a')
          await gate.pass()
          return 'late'
        }),
      { plugin: { closeGraceMs: 50, ttlMs: 1000 } },
    )
    const answer = app.inject('/')
    await gate.reached
    await app.close()
    expect(await isHeld()).toBe(true)
    await isFree()
    gate.open()
    await answer
  })

  test('comes after the requests in progress over connections', async () => {
    const gate = new Gate()
    let signal: AbortSignal | undefined
    const { app, port } = await startSite(
      (site) =>
        site.get('/', async (request) => {
          ;({ signal } = await request.lock('a'))
          await gate.pass()
          return 'served to the end'
        }),
      { fastify: { forceCloseConnections: 'idle' } },
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await gate.reached
    const closed = app.close()
    await eventually('the server listens no more', () => !app.server.listening)
    expect(signal?.aborted).toBe(false)
    gate.open()
    await client.receives('served to the end')
    client.leave()
    await closed
  })
})
