/** The recipes for frameworks answer, abort and release alike. */
import { eventually } from '@holdfast/servers/eventually'
import { startRedis } from '@holdfast/servers/redis'
import { createLocks, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { afterEach, describe, expect, test } from 'vitest'
import { after } from '../../support/after.js'
import { aborted, Gate } from '../../support/gate.js'
import { RawClient } from '../../support/raw-client.js'
import { RECIPES } from './web-servers.js'

const unhandled: unknown[] = []
process.on('unhandledRejection', (error) => unhandled.push(error))
afterEach(() => expect(unhandled.splice(0)).toEqual([]))

function newLocks(): { locks: Locks; isHeld(): Promise<boolean>; isFree(): Promise<void> } {
  const store = memoryStore()
  const [locks, beside] = [createLocks(store), createLocks(store)]
  after(() => Promise.all([locks.close({ graceMs: 1000 }), beside.close()]))
  const isHeld = async (): Promise<boolean> =>
    (await beside.mutex('a').inspect()).holders.length > 0
  const isFree = (): Promise<void> => eventually('the lock is free', async () => !(await isHeld()))
  return { locks, isHeld, isFree }
}

function chunk(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

describe.each(RECIPES)('%s', (name, start) => {
  test('a busy lock answers 423 with Retry-After, and a free one the handler', async () => {
    const { locks, isFree } = newLocks()
    const port = await start(locks, async ({ lease }) => `token ${lease.token}`, {
      retryAfterMs: 1500,
    })
    const lease = await locks.mutex('a').acquire()
    const busy = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([423, '2'])
    expect(await busy.text()).not.toContain('"a"')
    await lease.release()
    const free = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })
    expect([free.status, await free.text()]).toEqual([200, `token ${lease.token + 1n}`])
    await isFree()
  })

  test.each([
    ['is gone', 0],
    ['does not answer', 0],
    // The wait ends before the request: whether the lock is busy is unknown.
    ['does not answer in time', 200],
  ])('a store that %s answers 503 within a waitMs of %i', async (how, waitMs) => {
    const redis = await startRedis()
    const client = new Redis(redis.port, { retryStrategy: () => 100 })
    client.on('error', () => undefined)
    const locks = createLocks(redisStore({ client, requestTimeoutMs: 500 }))
    after(async () => {
      await locks.close()
      client.disconnect()
      await redis.stop()
    })
    const port = await start(locks, async () => 'never', { waitMs })
    await client.ping()
    if (how === 'is gone') await redis.kill()
    else redis.pause()
    const away = await fetch(`http://127.0.0.1:${port}/`)
    expect([away.status, await away.text()]).toEqual([503, 'The lock service is not available.'])
    if (how === 'is gone') await redis.start()
    else redis.resume()
  })

  test.each(['GET', 'POST'])(
    'a client that leaves a %s aborts the signal alone',
    async (method) => {
      const { locks, isHeld, isFree } = newLocks()
      const gate = new Gate()
      let reason: Promise<unknown> | undefined
      const port = await start(locks, async ({ signal }) => {
        reason = aborted(signal)
        await gate.pass()
        return 'for a client that has left'
      })
      const client = new RawClient(port)
      client.send(method, '/', method === 'POST' ? '{"x":1}' : '')
      await gate.reached
      client.leave()
      await reason
      expect(await isHeld()).toBe(true)
      gate.open()
      await isFree()
    },
  )

  test('a client that leaves while its request waits leaves no waiter behind', async () => {
    const { locks, isFree } = newLocks()
    const beside = createLocks(locks.store)
    const port = await start(locks, async () => 'never', { waitMs: 60_000 })
    const lease = await beside.mutex('a').acquire()
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":1}')
    const waiters = async () => (await beside.mutex('a').inspect()).waiters.length
    await eventually('it waits', async () => (await waiters()) === 1)
    client.leave()
    await eventually('it waits no more', async () => (await waiters()) === 0)
    await lease.release()
    await isFree()
  })

  test('a stream keeps the lock until it has been sent', async () => {
    const { locks, isHeld, isFree } = newLocks()
    let source!: ReadableStreamDefaultController<Uint8Array>
    const port = await start(
      locks,
      async () => new ReadableStream({ start: (controller) => void (source = controller) }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await eventually('the handler streams', isHeld)
    source.enqueue(chunk('begin'))
    await client.receives('begin')
    expect(await isHeld()).toBe(true)
    source.enqueue(chunk('end'))
    source.close()
    await client.receives('end')
    await isFree()
  })

  test('a client that leaves a stream cancels it and frees the lock', async () => {
    const { locks, isHeld, isFree } = newLocks()
    let source!: ReadableStreamDefaultController<Uint8Array>
    let isCancelled = false
    const port = await start(
      locks,
      async () =>
        new ReadableStream({
          start: (controller) => void (source = controller),
          cancel: () => void (isCancelled = true),
        }),
    )
    const client = new RawClient(port)
    client.send('GET', '/')
    await eventually('the handler streams', isHeld)
    source.enqueue(chunk('begin'))
    await client.receives('begin')
    expect(await isHeld()).toBe(true)
    client.leave()
    await isFree()
    await eventually('the stream is cancelled', () => isCancelled)
  })

  test('a client that reads nothing keeps the lock until it leaves', async () => {
    const { locks, isHeld, isFree } = newLocks()
    let sent = 0
    const megabyte = new Uint8Array(1024 * 1024)
    const port = await start(
      locks,
      async () =>
        new ReadableStream({
          pull(controller) {
            sent += 1
            if (sent > 64) controller.close()
            else controller.enqueue(megabyte)
          },
        }),
    )
    const client = new RawClient(port)
    client.socket.pause()
    client.send('GET', '/')
    await eventually('the response has begun', () => sent > 0)
    expect(await isHeld()).toBe(true)
    client.leave()
    await isFree()
    expect(sent).toBeLessThan(64)
  })

  test('an error of the handler is answered, and frees the lock', async () => {
    const { locks, isFree } = newLocks()
    const port = await start(locks, () => Promise.reject(new Error('of the handler')))
    const answer = await fetch(`http://127.0.0.1:${port}/`)
    // What Next answers to an error comes after the handler.
    const lock = name === 'route handlers' ? 'released' : 'held'
    expect([answer.status, await answer.text()]).toEqual([500, `of the handler, ${lock}`])
    await isFree()
  })

  test('a lost lease aborts the signal', async () => {
    const { locks, isFree } = newLocks()
    const port = await start(locks, async ({ lease, signal }) => {
      await locks.steal('a', { now: true })
      await lease.renew().catch(() => undefined)
      await aborted(signal)
      return `code ${(signal.reason as { code: string }).code}`
    })
    const answer = await fetch(`http://127.0.0.1:${port}/`)
    expect(await answer.text()).toBe('code LOCK_LOST')
    await isFree()
  })

  test('the handler runs in the context of its lock, and close waits for it', async () => {
    const { locks, isHeld } = newLocks()
    const gate = new Gate()
    const port = await start(locks, async ({ lease, signal }) => {
      expect(locks.assertHeld('a').token).toBe(lease.token)
      await gate.pass()
      return `aborted ${signal.aborted}`
    })
    const answer = fetch(`http://127.0.0.1:${port}/`)
    await gate.reached
    const closed = locks.close()
    expect(await isHeld()).toBe(true)
    gate.open()
    expect(await (await answer).text()).toBe('aborted true')
    await closed
    expect(await isHeld()).toBe(false)
  })

  test('a pipelined request loses its lock with the connection', async () => {
    const { locks, isFree } = newLocks()
    const [first, second] = [new Gate(), new Gate()]
    const held = await locks.mutex('b').acquire()
    let calls = 0
    const port = await start(locks, async ({ lease }) => {
      calls += 1
      if (calls > 1) return second.pass().then(() => 'second')
      // The lock is free for the second request, while the first one still answers.
      await lease.release()
      await first.pass()
      return 'first'
    })
    const client = new RawClient(port)
    client.send('POST', '/', '{"x":1}')
    await first.reached
    client.send('POST', '/', '{"x":1}')
    await second.reached
    client.leave()
    second.open()
    await isFree()
    first.open()
    await held.release()
  })
})
