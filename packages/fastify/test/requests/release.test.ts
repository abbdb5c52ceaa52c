/** When the lock of a request is released: the handler has settled, and the response is over. */
import { Readable } from 'node:stream'
import { eventually } from '@holdfast/servers/eventually'
import { afterEach, describe, expect, test } from 'vitest'
import { RawClient } from '../../../../test/support/raw-client.js'
import { aborted, Gate } from '../../../../test/support/gate.js'
import { startSite } from '../support/site.js'

const unhandled: unknown[] = []
process.on('unhandledRejection', (error) => unhandled.push(error))
afterEach(() => expect(unhandled.splice(0)).toEqual([]))

describe('the response is over', () => {
  test('a handler that answers early keeps the lock until it has settled', async () => {
    const gate = new Gate()
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request, reply) => {
        await request.lock('a')
        reply.send('early')
        await gate.pass()
      }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await client.receives('early')
    await gate.reached
    expect(await isHeld()).toBe(true)
    gate.open()
    await isFree()
  })

  test.each(['GET', 'POST'])(
    'a client that leaves a %s aborts the signal alone',
    async (method) => {
      const gate = new Gate()
      let reason: Promise<unknown> | undefined
      const { port, isHeld, isFree } = await startSite((app) =>
        app.route({
          method: ['GET', 'POST'],
          url: '/',
          async handler(request) {
            const lease = await request.lock('a')
            reason = aborted(lease.signal)
            await gate.pass()
          },
        }),
      )
      const client = new RawClient(port)
      client.send(method, '/', method === 'POST' ? '{"x":1}' : '')
      await gate.reached
      client.leave()
      expect(await reason).toMatchObject({ code: 'CLIENT_DISCONNECTED' })
      expect(await isHeld()).toBe(true)
      gate.open()
      await isFree()
    },
  )

  test('a POST that continues after its body aborts nothing', async () => {
    const gate = new Gate()
    let signal: AbortSignal | undefined
    const { port, isFree } = await startSite((app) =>
      app.post('/', async (request) => {
        const lease = await request.lock('a')
        ;({ signal } = lease)
        await eventually('the request has closed', () => request.raw.closed)
        await gate.pass()
        return 'done'
      }),
    )
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":1}')
    await gate.reached
    expect(signal?.aborted).toBe(false)
    gate.open()
    await client.receives('done')
    await isFree()
    expect(signal?.aborted).toBe(false)
  })

  test('a request whose client has left gets no lock', async () => {
    const gate = new Gate()
    let refused: unknown
    const { port, isHeld } = await startSite((app) =>
      app.post('/', async (request) => {
        await gate.pass()
        await eventually('the client has left', () => request.raw.socket.destroyed)
        refused = await request.lock('a').catch((error: unknown) => error)
      }),
    )
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":1}')
    await gate.reached
    client.leave()
    gate.open()
    await eventually('it is refused', () => refused !== undefined)
    expect(refused).toMatchObject({ code: 'CLIENT_DISCONNECTED' })
    expect(await isHeld()).toBe(false)
  })

  test('a lock that a handler takes after its answer lasts until it has settled', async () => {
    const gate = new Gate()
    let signal: AbortSignal | undefined
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request, reply) => {
        reply.send('early')
        await eventually('it has been sent', () => reply.raw.writableFinished)
        ;({ signal } = await request.lock('a'))
        await gate.pass()
      }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await gate.reached
    expect(await isHeld()).toBe(true)
    expect(signal?.aborted).toBe(false)
    gate.open()
    await isFree()
  })

  test('a pipelined request loses its lock with the connection before its turn', async () => {
    const [first, second] = [new Gate(), new Gate()]
    let reason: Promise<unknown> | undefined
    const { port, isHeld, isFree } = await startSite((app) =>
      app
        .post('/first', () => first.pass())
        .post('/second', async (request) => {
          const lease = await request.lock('a')
          reason = aborted(lease.signal)
          await second.pass()
        }),
    )
    const client = new RawClient(port)
    client.send('POST', '/first', '{"x":1}')
    client.send('POST', '/second', '{"x":1}')
    await second.reached
    client.leave()
    expect(await reason).toMatchObject({ code: 'CLIENT_DISCONNECTED' })
    expect(await isHeld()).toBe(true)
    second.open()
    await isFree()
    first.open()
  })

  test('a pipelined answer that was never sent loses its lock with the connection', async () => {
    const first = new Gate()
    const { port, isHeld, isFree } = await startSite((app) =>
      app
        .post('/first', () => first.pass())
        .post('/second', async (request) => {
          await request.lock('a')
          return 'second'
        }),
    )
    const client = new RawClient(port)
    client.send('POST', '/first', '{"x":1}')
    client.send('POST', '/second', '{"x":1}')
    await eventually('the second has its lock', isHeld)
    client.leave()
    await isFree()
    first.open()
  })

  test('a connection with many requests gets no more listeners', async () => {
    const { app, port, isFree } = await startSite((site) =>
      site.get('/', async (request) => {
        await request.lock('a', { waitMs: 60_000 })
        return `${request.raw.socket.listenerCount('close')} listeners`
      }),
    )
    const client = new RawClient(port)
    for (let count = 1; count <= 20; count += 1) {
      client.send('GET', '/')
      await eventually('an answer', () => client.received.split(' listeners').length === count + 1)
    }
    const counts = [...client.received.matchAll(/(\d+) listeners/g)].map(([, count]) => count)
    expect(new Set(counts).size).toBe(1)
    expect(app.server.listening).toBe(true)
    await isFree()
  })
})

describe('the handler has settled', () => {
  test('a stream keeps the lock until it has been sent', async () => {
    const stream = new Readable({ read() {} })
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request, reply) => {
        await request.lock('a')
        reply.type('text/plain')
        return stream
      }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    stream.push('begin')
    await client.receives('begin')
    expect(await isHeld()).toBe(true)
    stream.push('end')
    stream.push(null)
    await client.receives('end')
    await isFree()
  })

  test('a client that leaves a stream frees the lock', async () => {
    const stream = new Readable({ read() {} })
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request, reply) => {
        await request.lock('a')
        reply.type('text/plain')
        return stream
      }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    stream.push('begin')
    await client.receives('begin')
    expect(await isHeld()).toBe(true)
    client.leave()
    await isFree()
  })

  test('a client that reads nothing keeps the lock until it leaves', async () => {
    const { port, isHeld, isFree } = await startSite((app) =>
      app.get('/', async (request) => {
        await request.lock('a')
        return Buffer.alloc(64 * 1024 * 1024)
      }),
    )
    const client = new RawClient(port)
    client.socket.pause()
    client.send('GET', '/')
    await eventually('the request has its lock', isHeld)
    client.leave()
    await isFree()
  })

  test('an error of the handler frees the lock with its answer', async () => {
    const gate = new Gate()
    const { port, isHeld, isFree } = await startSite((app) => {
      app.setErrorHandler(async () => {
        await gate.pass()
        return 'handled'
      })
      app.get('/', async (request) => {
        await request.lock('a')
        throw new Error('of the handler')
      })
    })
    const client = new RawClient(port)
    client.send('GET', '/')
    await gate.reached
    expect(await isHeld()).toBe(true)
    gate.open()
    await client.receives('handled')
    await isFree()
  })

  test('a query builder that a handler returns runs once', async () => {
    let runs = 0
    // As Knex does it: each call of `then` sends the query.
    const query = { then: (resolve: (rows: unknown) => void) => resolve({ runs: (runs += 1) }) }
    const { app, isFree } = await startSite((site) =>
      site.get('/', (request) => {
        void request.lock('a')
        return query
      }),
    )
    expect((await app.inject('/')).json()).toEqual({ runs: 1 })
    expect(runs).toBe(1)
    await isFree()
  })
})

describe('the lease', () => {
  test('released early, it is free while the handler continues, and may be taken again', async () => {
    const gate = new Gate()
    const { app, isHeld, isFree } = await startSite((site) =>
      site.get('/', async (request) => {
        const lease = await request.lock('a')
        expect(await lease.release()).toBe('released')
        await gate.pass()
        const again = await request.lock('a')
        return { larger: again.token > lease.token }
      }),
    )
    const answer = app.inject('/')
    await gate.reached
    expect(await isHeld()).toBe(false)
    gate.open()
    expect((await answer).json()).toEqual({ larger: true })
    await isFree()
  })

  test('its run passes the same lease, under which the context has the lock', async () => {
    const { app } = await startSite((site) =>
      site.get('/', async (request) => {
        const lease = await request.lock('a')
        return lease.run((same) => ({
          isSame: same === lease,
          isHeld: site.locks.assertHeld('a').token === lease.token,
          isOneSignal: lease.signal === lease.signal && lease.signal === same.signal,
        }))
      }),
    )
    const answer = await app.inject('/')
    expect(answer.json()).toEqual({ isSame: true, isHeld: true, isOneSignal: true })
  })

  test('a loss aborts its signal', async () => {
    const { app } = await startSite(
      (site) =>
        site.get('/', async (request) => {
          const lease = await request.lock('a')
          await site.locks.steal('a', { now: true })
          await aborted(lease.signal)
          return { code: (lease.signal.reason as { code: string }).code, held: lease.held }
        }),
      { plugin: { ttlMs: 300 } },
    )
    expect((await app.inject('/')).json()).toEqual({ code: 'LOCK_LOST', held: false })
  })

  test('of several locks, all are released', async () => {
    const { app, isFree } = await startSite((site) =>
      site.get('/', async (request) => {
        const { mutex, multi, readWriteLock, semaphore } = site.locks
        const both = await request.lock(multi([mutex('a'), mutex('b')]))
        const reader = await request.lock(readWriteLock('c').read)
        const permit = await request.lock(semaphore('d', { permits: 2 }))
        return { names: [...both.tokens.keys(), reader.name, permit.name] }
      }),
    )
    expect((await app.inject('/')).json()).toEqual({ names: ['a', 'b', 'c', 'd'] })
    await isFree()
    await eventually('all are free', async () => {
      const { locks: found } = await app.locks.inspect()
      return found.every(({ holders }) => holders.length === 0)
    })
  })

  test('a lock that the handler did not await is free at once', async () => {
    let taken: Promise<unknown> | undefined
    const { app, isHeld, isFree } = await startSite((site) =>
      site.get('/', async (request) => {
        taken = request.lock('a', { waitMs: 60_000 }).catch((error: unknown) => error)
        return 'done'
      }),
    )
    const before = await app.locks.mutex('a').acquire()
    expect((await app.inject('/')).body).toBe('done')
    expect(await isHeld()).toBe(true)
    await before.release()
    expect(await taken).toMatchObject({ code: 'LOCK_USAGE' })
    await isFree()
  })
})
