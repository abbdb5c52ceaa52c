/**
 * Waiting: attempt, queue, watch and attempt again; giving up in every state; and what becomes of
 * attempts in doubt.
 */
import { getEventListeners } from 'node:events'
import { LockTimeoutError, StoreUnavailableError, type Lease } from 'holdfast'
import { CAPACITY_ALL, type Claim } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { marginMs } from '../../../dist/clock/margin.js'
import { count, makeWorld, outcomeOf } from '../../support/world.js'

describe('a wait', () => {
  test('ends with a typed error after waitMs, and leaves nothing behind', async () => {
    const { clock, client, direct, store } = makeWorld()
    const holder = await direct().mutex('a').acquire()
    const outcome = await clock.until(outcomeOf(client().mutex('a').acquire({ waitMs: 300 })))
    expect(outcome).toMatchObject({ error: { code: 'LOCK_TIMEOUT', lock: 'a', waitMs: 300 } })
    expect(clock.monotonicMs()).toBe(300)
    await clock.advance(10)
    const locks = await store.inspect(['a'])
    expect(locks[0]?.waiters).toEqual([])
    expect(holder.held).toBe(true)
  })

  test('tries once, without queueing, when waitMs is 0', async () => {
    const { clock, client, direct, wire } = makeWorld()
    await direct().mutex('a').acquire()
    const outcome = await clock.until(outcomeOf(client().mutex('a').acquire({ waitMs: 0 })))
    expect(outcome).toHaveProperty('error.code', 'LOCK_TIMEOUT')
    expect(wire.sent.map(({ verb }) => verb)).toEqual(['attempt'])
  })

  test('rejects with the reason of its signal', async () => {
    const { clock, client, direct } = makeWorld()
    await direct().mutex('a').acquire()
    const controller = new AbortController()
    const waiting = outcomeOf(client().mutex('a').acquire({ signal: controller.signal }))
    await clock.advance(50)
    const reason = new Error('the user went home')
    controller.abort(reason)
    expect(await waiting).toEqual({ error: reason })
  })

  test('shares one listener with the others of its signal, however many they are', async () => {
    const { clock, client, direct } = makeWorld()
    const holder = await direct().mutex('a').acquire()
    const controller = new AbortController()
    const { signal } = controller
    const locks = client()
    const first = locks.mutex('a').acquire({ signal })
    const waits = Array.from({ length: 20 }, () => outcomeOf(locks.mutex('a').acquire({ signal })))
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await clock.advance(50)
    await holder.release()
    const lease = await clock.until(first)
    const reason = new Error('the server shuts down')
    controller.abort(reason)
    expect(await Promise.all(waits)).toEqual(waits.map(() => ({ error: reason })))
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(lease.held).toBe(true)
  })

  test('leaves no listener behind when it has ended', async () => {
    const { clock, client, direct } = makeWorld()
    await direct().mutex('a').acquire()
    const { signal } = new AbortController()
    const waiting = client().mutex('a').acquire({ signal, waitMs: 300 })
    expect(await clock.until(outcomeOf(waiting))).toHaveProperty('error.code', 'LOCK_TIMEOUT')
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('does not begin when its signal is aborted already', async () => {
    const { client, wire } = makeWorld()
    const reason = new Error('too late')
    const outcome = await outcomeOf(
      client()
        .mutex('a')
        .acquire({ signal: AbortSignal.abort(reason) }),
    )
    expect(outcome).toEqual({ error: reason })
    expect(wire.sent).toEqual([])
  })

  test('without a limit lasts longer than the longest timer', async () => {
    const { clock, client, direct } = makeWorld()
    const holder = await direct({ ttlMs: 1000 }).mutex('a').acquire()
    const waiting = client({ ttlMs: 1000 }).mutex('a').acquire({ waitMs: Infinity })
    await clock.advance(60_000)
    await holder.release()
    expect((await clock.until(waiting)).held).toBe(true)
  })

  test('given up by one leaves the order of the others untouched', async () => {
    const { clock, direct, client } = makeWorld()
    const holder = await direct().mutex('a').acquire()
    const order: number[] = []
    const controller = new AbortController()
    const waits = [1, 2, 3, 4].map(async (number) => {
      // Each is a client of its own, so that all of them queue in the store.
      const options = number === 2 ? { signal: controller.signal } : {}
      await client()
        .mutex('a')
        .run(() => void order.push(number), options)
    })
    const outcomes = Promise.allSettled(waits)
    await clock.advance(20)
    controller.abort()
    await clock.advance(20)
    await holder.release()
    await clock.until(outcomes)
    expect(order).toEqual([1, 3, 4])
  })
})

describe('waking up', () => {
  test('a release gives the lock to the waiter without another attempt', async () => {
    const { clock, client, direct, wire } = makeWorld()
    const holder = await direct().mutex('a').acquire()
    const waiting = client().mutex('a').acquire()
    await clock.advance(100)
    const before = count({ wire } as ReturnType<typeof makeWorld>, 'attempt')
    await holder.release()
    const lease = await clock.until(waiting)
    expect(lease.held).toBe(true)
    expect(count({ wire } as ReturnType<typeof makeWorld>, 'attempt')).toBe(before)
  })

  test('a pushed grant lives shortly until its first renewal, and its clock starts at the last answer', async () => {
    const { clock, client, direct } = makeWorld()
    const holder = await direct().mutex('a').acquire()
    const waiting = client({ ttlMs: 30_000 }).mutex('a').acquire()
    await clock.advance(600)
    await holder.release()
    const lease = await clock.until(waiting)
    expect(lease.remainingMs).toBeLessThanOrEqual(3000 - 600)
    await clock.advance(2500)
    expect(lease.remainingMs).toBeGreaterThan(20_000)
  })

  test('a grant that comes when the clocks have parted is asked about first, and then counts', async () => {
    const world = makeWorld()
    const { clock, client, direct } = world
    const holder = await direct().mutex('a').acquire()
    const waiting = client().mutex('a').acquire()
    await clock.advance(500)
    // The machine slept, or its clock was set: only the store knows which.
    clock.stepWall(60_000)
    const before = count(world, 'attempt')
    await holder.release()
    const lease = await clock.until(waiting)
    expect(count(world, 'attempt')).toBe(before + 1)
    expect(lease.held).toBe(true)
    expect(lease.token).toBeGreaterThan(holder.token)
  })

  test('news of a grant that ended unseen does not count, though the claim waits again', async () => {
    const { clock, client, direct, store, wire } = makeWorld(1, 1)
    const news: (() => void)[] = []
    const watch = store.watch.bind(store)
    store.watch = (claim, wake) => watch(claim, (grant) => void news.push(() => wake(grant)))
    const holder = await direct().mutex('a').acquire()
    const waiting = client({ ttlMs: 30_000 }).mutex('a').acquire()
    await clock.advance(100)
    // As if its process were stopped: nothing leaves it, the news of its grant lies there, and the
    // grant runs out.
    wire.fate = () => 'fail'
    await holder.release()
    await clock.advance(3100)
    // Others come and go, until the lock does not remember the claim any more.
    await (await direct().mutex('a').acquire()).release()
    const other = await direct().mutex('a').acquire()
    wire.fate = () => 'deliver'
    await clock.advance(1100)
    expect((await store.inspect(['a']))[0]?.waiters).toHaveLength(1)
    for (const tell of news.splice(0)) tell()
    await clock.advance(100)
    expect((await store.inspect(['a']))[0]?.holders[0]?.token).toBe(other.token)
    await other.release()
    for (const tell of news) tell()
    const lease = await clock.until(waiting)
    expect(lease.token).toBeGreaterThan(other.token)
    expect((await store.inspect(['a']))[0]?.holders[0]?.token).toBe(lease.token)
  })

  test('news of a grant that ended while the machine slept does not count later', async () => {
    const { clock, client, direct, store, wire } = makeWorld(1, 1)
    const news: (() => void)[] = []
    const watch = store.watch.bind(store)
    store.watch = (claim, wake) => watch(claim, (grant) => void news.push(() => wake(grant)))
    const holder = await direct().mutex('a').acquire()
    const waiting = client({ ttlMs: 30_000 }).mutex('a').acquire()
    await clock.advance(100)
    await holder.release()
    // While it sleeps, the grant ends, and the lock forgets the claim over others.
    clock.stepWall(60_000)
    await store.withdraw(wire.sent[0]?.argument as Claim)
    await (await direct().mutex('a').acquire()).release()
    const other = await direct().mutex('a').acquire()
    // The news puts the claim in doubt, so that it attempts, and waits again.
    const tell = news[0] as () => void
    tell()
    await clock.advance(100)
    expect((await store.inspect(['a']))[0]?.waiters).toHaveLength(1)
    tell()
    await clock.advance(100)
    expect((await store.inspect(['a']))[0]?.waiters).toHaveLength(1)
    await other.release()
    await clock.advance(100)
    for (const each of news) each()
    const lease = await clock.until(waiting)
    expect(lease.token).toBeGreaterThan(other.token)
  })

  test.each([1, 2, 3])(
    'a grant that comes when %i ms of it are left is handed out only while its holder can use it',
    async (leftMs) => {
      const { clock, client, wire } = makeWorld()
      const ttlMs = 1000
      // On both ways.
      wire.latencyMs = (ttlMs - marginMs(ttlMs) - leftMs) / 2
      const first = outcomeOf(client({ ttlMs }).mutex('a').acquire())
      await clock.advance(2 * wire.latencyMs)
      wire.latencyMs = 1
      const outcome = await clock.until(first)
      const remainingMs = 'value' in outcome ? outcome.value.remainingMs : 0
      if (leftMs > 2) expect(remainingMs).toBe(leftMs)
      else expect(remainingMs).toBeGreaterThan(ttlMs / 4)
    },
  )

  test('a lost wake-up costs at most a heartbeat', async () => {
    const { clock, client, direct, store } = makeWorld()
    store.watch = () => ({ ready: undefined, close: () => undefined })
    const holder = await direct().mutex('a').acquire()
    const waiting = client().mutex('a').acquire()
    await clock.advance(100)
    await holder.release()
    const releasedMs = clock.monotonicMs()
    await clock.until(waiting)
    expect(clock.monotonicMs() - releasedMs).toBeLessThanOrEqual(1000)
  })

  test('a dead holder costs its TTL and no heartbeat more', async () => {
    const { clock, client, store } = makeWorld()
    await store.attempt(
      {
        lock: 'a',
        id: 'dead.1',
        kind: 'mutex',
        capacity: CAPACITY_ALL,
        weight: CAPACITY_ALL,
        ttlMs: 700,
        heartbeatMs: 200,
        owner: { clientId: 'dead', host: 'h', pid: 1 },
      },
      { enqueue: true, tokens: 1 },
    )
    await clock.until(client().mutex('a').acquire())
    expect(clock.monotonicMs()).toBeLessThan(720)
  })

  test('all waiters of a client beat together: one turn for all of them', async () => {
    const { clock, client, direct, wire } = makeWorld()
    const holders = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => direct().mutex(name).acquire()),
    )
    const locks = client()
    for (const name of ['a', 'b', 'c', 'd']) void outcomeOf(locks.mutex(name).acquire())
    await clock.advance(100)
    wire.sent.length = 0
    await clock.advance(3000)
    const moments = new Set(wire.sent.map(({ atMs }) => atMs))
    expect(wire.sent.length).toBe(4 * moments.size)
    expect(moments.size).toBeGreaterThanOrEqual(3)
    expect(holders.every((lease) => lease.held)).toBe(true)
  })
})

describe('an attempt in doubt', () => {
  test('whose reply was dropped is withdrawn: the lock is free at once, not after the TTL', async () => {
    const { clock, client, direct, wire } = makeWorld()
    wire.fate = (verb) => (verb === 'attempt' ? 'drop-reply' : 'deliver')
    const locks = client({ ttlMs: 10_000, requestTimeoutMs: 200 })
    const outcome = await clock.until(outcomeOf(locks.mutex('a').acquire()))
    expect(outcome).toHaveProperty('error.code', 'STORE_UNAVAILABLE')
    wire.fate = () => 'deliver'
    const next = direct({ ttlMs: 10_000 }).mutex('a').acquire({ waitMs: 500 })
    expect((await clock.until(next)).held).toBe(true)
  })

  test('given up while in flight is withdrawn too', async () => {
    const { clock, client, direct, wire } = makeWorld()
    wire.latencyMs = 100
    const outcome = await clock.until(outcomeOf(client().mutex('a').acquire({ waitMs: 50 })))
    expect(outcome).toHaveProperty('error')
    await clock.advance(500)
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })

  test('a tryAcquire that times out is withdrawn too', async () => {
    const { clock, client, direct, wire } = makeWorld()
    wire.fate = (verb) => (verb === 'attempt' ? 'drop-reply' : 'deliver')
    const outcome = await clock.until(
      outcomeOf(client({ requestTimeoutMs: 100 }).mutex('a').tryAcquire()),
    )
    expect(outcome).toHaveProperty('error.code', 'STORE_UNAVAILABLE')
    await clock.advance(50)
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })
})

describe('a store that is away', () => {
  test('fails a tryAcquire at once, with a typed error', async () => {
    const { clock, client, wire } = makeWorld()
    wire.fate = () => 'fail'
    const outcome = await clock.until(outcomeOf(client().mutex('a').tryAcquire()))
    expect(outcome).toHaveProperty('error')
    if ('error' in outcome) expect(outcome.error).toBeInstanceOf(StoreUnavailableError)
    expect(clock.monotonicMs()).toBeLessThan(50)
  })

  test('for less than a TTL is outlived by the waiters', async () => {
    const { clock, client, direct, wire } = makeWorld()
    const holder = await direct({ ttlMs: 30_000 }).mutex('a').acquire()
    const waiting = client({ ttlMs: 30_000 }).mutex('a').acquire()
    await clock.advance(100)
    wire.fate = () => 'fail'
    await clock.advance(5000)
    wire.fate = () => 'deliver'
    await holder.release()
    expect((await clock.until(waiting)).held).toBe(true)
  })

  test('for a moment is outlived also by a claim that begins again just then', async () => {
    const { clock, client, direct, store, wire } = makeWorld()
    const holder = await direct({ ttlMs: 30_000 }).mutex('a').acquire()
    const waiting = client({ ttlMs: 30_000 }).mutex('a').acquire()
    await clock.advance(100)
    const before = wire.sent.length
    // As if it had slept through its turn: its place is gone.
    await store.withdraw(wire.sent[0]?.argument as Claim)
    wire.fate = () => (wire.sent.length === before + 1 ? 'fail' : 'deliver')
    await clock.advance(5000)
    await holder.release()
    expect((await clock.until(waiting)).held).toBe(true)
    expect(wire.sent.length).toBeGreaterThan(before + 1)
  })

  test('for longer rejects the waiters', async () => {
    const { clock, client, direct, wire } = makeWorld()
    await direct({ ttlMs: 30_000 }).mutex('a').acquire()
    const waiting = outcomeOf(client({ ttlMs: 2000 }).mutex('a').acquire())
    await clock.advance(100)
    wire.fate = () => 'fail'
    expect(await clock.until(waiting)).toHaveProperty('error.code', 'STORE_UNAVAILABLE')
  })

  test.each(['cohort', 'fifo'] as const)(
    'and does not answer at all rejects the waiters: %s',
    async (fairness) => {
      const { clock, client, direct, wire } = makeWorld()
      await direct({ ttlMs: 30_000 }).mutex('a').acquire()
      // The next attempt always leaves before the last one is given up.
      const locks = client({ ttlMs: 2000, requestTimeoutMs: 3000 })
      const waiting = outcomeOf(locks.mutex('a', { fairness }).acquire())
      await clock.advance(100)
      wire.fate = () => 'hang'
      expect(await clock.until(waiting, 36_000)).toHaveProperty('error.code', 'STORE_UNAVAILABLE')
    },
  )
})

describe('renewal', () => {
  test('groups what is due: one request for a hundred leases', async () => {
    const { clock, client, wire } = makeWorld()
    const locks = client({ ttlMs: 3000 })
    const names = Array.from({ length: 100 }, (_, index) => `lock ${index}`)
    const leases: Lease[] = await clock.until(
      Promise.all(names.map((name) => locks.mutex(name).acquire())),
    )
    await clock.advance(10_000)
    const renewals = wire.sent.filter(({ verb }) => verb === 'renew')
    expect(renewals.length).toBeLessThan(15)
    expect(leases.every((lease) => lease.held)).toBe(true)
  })

  test('needs no timer per lease', async () => {
    const { clock, client } = makeWorld()
    const locks = client()
    const names = Array.from({ length: 1000 }, (_, index) => `lock ${index}`)
    await clock.until(Promise.all(names.map((name) => locks.mutex(name).acquire())))
    expect(clock.timers).toBeLessThan(5)
  })
})

test('LockTimeoutError says what to do', () => {
  const error = new LockTimeoutError(5, { lock: 'x' })
  expect(error.message).toContain('waitMs')
})
