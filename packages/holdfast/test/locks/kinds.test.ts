/**
 * The kinds of lock beyond the mutex: semaphores, multi-locks, stripes, elections, single flight.
 */
import { describe, expect, test } from 'vitest'
import { remaining } from '../support/garbage.js'
import { makeWorld, outcomeOf } from '../support/world.js'

describe('a semaphore', () => {
  test('gives out its permits by weight', async () => {
    const { direct } = makeWorld()
    const gpu = direct().semaphore('gpu', { permits: 4 })
    const two = await gpu.acquire({ weight: 2 })
    await gpu.acquire()
    expect(await gpu.tryAcquire({ weight: 2 })).toBeUndefined()
    await two.release()
    expect(await gpu.tryAcquire({ weight: 2 })).toBeDefined()
  })

  test('forgets weights that are not used any more', async () => {
    const bytes = makeWorld().direct().semaphore('bytes', { permits: 1_000_000 })
    const asked = Array.from(
      { length: 1000 },
      (_, index) => new WeakRef(bytes.withWeight(index + 1)),
    )
    // What a weak reference was made of stays until the turn is over.
    await new Promise((resolve) => void setImmediate(resolve))
    expect(remaining(asked)).toBeLessThan(100)
    expect(await bytes.run((lease) => lease.held, { weight: 1000 })).toBe(true)
  })

  test('refuses another number of permits while it is in use', async () => {
    const { direct } = makeWorld()
    const locks = direct()
    await locks.semaphore('gpu', { permits: 4 }).acquire()
    const outcome = await outcomeOf(locks.semaphore('gpu', { permits: 5 }).acquire())
    expect(outcome).toHaveProperty('error.code', 'LOCK_MISMATCH')
    expect(await outcomeOf(locks.mutex('gpu').tryAcquire())).toHaveProperty(
      'error.code',
      'LOCK_MISMATCH',
    )
    expect(await outcomeOf(locks.mutex('gpu').acquire())).toHaveProperty(
      'error.code',
      'LOCK_MISMATCH',
    )
  })
})

describe('a multi-lock', () => {
  test('takes all, in the order of their names, and has the token of each', async () => {
    const { direct } = makeWorld()
    const locks = direct({ namespace: 'shop' })
    const lock = locks.multi([
      locks.mutex('b'),
      locks.mutex('a'),
      locks.semaphore('c', { permits: 3 }).withWeight(2),
    ])
    expect(lock.names).toEqual(['shop:a', 'shop:b', 'shop:c'])
    const lease = await lock.acquire()
    expect([...lease.tokens.keys()]).toEqual(lock.names)
    expect(lease.held).toBe(true)
    expect(await locks.mutex('a').tryAcquire()).toBeUndefined()
    expect(await lease.release()).toBe('released')
    expect(await locks.mutex('b').tryAcquire()).toBeDefined()
  })

  test('takes none when one of them is busy', async () => {
    const { direct, clock } = makeWorld()
    const locks = direct()
    const busy = await locks.mutex('b').acquire()
    const lock = locks.multi([locks.mutex('a'), locks.mutex('b')])
    expect(await lock.tryAcquire()).toBeUndefined()
    expect(await clock.until(outcomeOf(lock.acquire({ waitMs: 100 })))).toHaveProperty(
      'error.code',
      'LOCK_TIMEOUT',
    )
    expect(await locks.mutex('a').tryAcquire()).toBeDefined()
    expect(busy.held).toBe(true)
  })

  test('two that overlap in opposite orders do not deadlock', async () => {
    const { direct, clock } = makeWorld()
    const locks = direct()
    const [a, b] = [locks.mutex('a'), locks.mutex('b')]
    const done: string[] = []
    const work = (name: string) => async (): Promise<void> => {
      await new Promise((resolve) => void setImmediate(resolve))
      done.push(name)
    }
    await clock.until(
      Promise.all([
        locks.multi([a, b]).run(work('ab')),
        locks.multi([b, a]).run(work('ba')),
        a.run(work('a')),
      ]),
    )
    expect(done.toSorted()).toEqual(['a', 'ab', 'ba'])
  })

  test('runs nothing under a lease that was lost while the rest was waited for, and begins again', async () => {
    const { client, direct, clock, wire } = makeWorld()
    const locks = client({ ttlMs: 1000 })
    const busy = await direct({ ttlMs: 60_000 }).mutex('b').acquire()
    const held: boolean[] = []
    const run = locks
      .multi([locks.mutex('a'), locks.mutex('b')])
      .run((lease) => held.push(lease.held))
    await clock.advance(100)
    wire.fate = (verb) => (verb === 'renew' ? 'fail' : 'deliver')
    await clock.advance(1000)
    wire.fate = () => 'deliver'
    await busy.release()
    await clock.until(run)
    expect(held).toEqual([true])
  })

  test('that waits for too long says for how long it was to wait', async () => {
    const { direct, clock } = makeWorld()
    const locks = direct()
    await locks.mutex('b').acquire()
    const run = locks
      .multi([locks.mutex('a'), locks.mutex('b')])
      .run(() => undefined, { waitMs: 500 })
    expect(await clock.until(outcomeOf(run))).toMatchObject({
      error: { code: 'LOCK_TIMEOUT', waitMs: 500 },
    })
  })

  test('that gets each, but never all at once, ends in time', async () => {
    const { client, clock, wire } = makeWorld()
    const locks = client({ maxHoldMs: 3 })
    wire.latencyMs = 7
    const acquiring = locks.multi([locks.mutex('a'), locks.mutex('b')]).acquire({ waitMs: 200 })
    const outcome = await clock.until(outcomeOf(acquiring))
    expect(outcome).toMatchObject({ error: { code: 'LOCK_TIMEOUT', waitMs: 200 } })
    expect(clock.monotonicMs()).toBeLessThan(300)
  })

  test('refuses a signal that is none', async () => {
    const { direct } = makeWorld()
    const locks = direct()
    const acquiring = locks
      .multi([locks.mutex('a')])
      .acquire({ signal: null as unknown as AbortSignal })
    expect(await outcomeOf(acquiring)).toMatchObject({ error: { code: 'LOCK_USAGE' } })
  })

  test('aborts its signal when the first of them is lost', async () => {
    const { direct, clock, store } = makeWorld()
    const locks = direct({ ttlMs: 1000 })
    const lease = await locks.multi([locks.mutex('a'), locks.mutex('b')]).acquire()
    await store.steal('b', { now: true })
    await clock.advance(400)
    expect(lease.signal.aborted).toBe(true)
    expect(lease.held).toBe(false)
    expect(await lease.release()).toBe('lost')
  })

  test('refuses the same lock twice, nothing at all, and strangers', async () => {
    const { direct } = makeWorld()
    const [locks, others] = [direct(), direct()]
    expect(() => locks.multi([locks.mutex('a'), locks.mutex('a')])).toThrow(/twice/)
    expect(() => locks.multi([])).toThrow(/at least one/)
    expect(() => locks.multi([others.mutex('a')])).toThrow(/another createLocks/)
    expect(() => locks.multi([{ name: 'a' } as never])).toThrow(/multi takes/)
  })
})

describe('a striped lock', () => {
  test('gives each key one of its mutexes, always the same, and spreads keys evenly', async () => {
    const { direct } = makeWorld()
    const stock = direct().striped('stock', { stripes: 16 })
    const counts = Array.from({ length: 16 }, () => 0)
    for (let user = 0; user < 16_000; user += 1) {
      const index = stock.indexOf(`user-${user}`)
      counts[index] = (counts[index] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(800)
    expect(stock.for('user-1').name).toBe(stock.for('user-1').name)
    expect(stock.for('user-1').name).toBe(stock.at(stock.indexOf('user-1')).name)
    expect(() => stock.at(16)).toThrow(/from 0 to 15/)
  })
})

describe('an election', () => {
  test('elects one, and the next when it resigns', async () => {
    const { direct, clock } = makeWorld()
    const [a, b] = [direct().election('scheduler'), direct().election('scheduler')]
    const events: string[] = []
    a.on('elected', () => events.push('a elected'))
    a.on('resigned', () => events.push('a resigned'))
    b.on('elected', () => events.push('b elected'))
    const first = await a.campaign()
    const second = b.campaign()
    await clock.advance(10)
    expect(a.isLeader).toBe(true)
    expect(b.isLeader).toBe(false)
    expect((await b.leader())?.claimId).toBe(first.claimId)
    expect(await a.resign()).toBe(true)
    expect((await clock.until(second)).token).toBeGreaterThan(first.token)
    expect(events.toSorted()).toEqual(['a elected', 'a resigned', 'b elected'])
    expect(b.token).toBe((await second).token)
  })

  test('aborts the signal and emits the loss of a leadership', async () => {
    const { client, clock, wire } = makeWorld()
    const election = client({ ttlMs: 1000 }).election('scheduler')
    const lost: unknown[] = []
    election.on('lost', (error) => lost.push(error))
    await clock.until(election.campaign())
    const { signal } = election
    wire.fate = () => 'hang'
    await clock.advance(1000)
    expect(signal?.aborted).toBe(true)
    expect(election.isLeader).toBe(false)
    expect(election.token).toBeUndefined()
    expect(lost).toHaveLength(1)
  })

  test('resign ends a campaign', async () => {
    const { direct, clock } = makeWorld()
    await direct().election('scheduler').campaign()
    const election = direct().election('scheduler')
    const campaign = outcomeOf(election.campaign())
    await clock.advance(10)
    expect(await election.resign()).toBe(false)
    expect(await campaign).toHaveProperty('error.code', 'LOCK_USAGE')
  })
})

describe('single flight', () => {
  test('loads once for many that ask at the same time', async () => {
    const { direct, clock } = makeWorld()
    const flight = direct().singleFlight('report')
    let cached: string | undefined
    let loads = 0
    const load = async (): Promise<string> => {
      loads += 1
      await new Promise((resolve) => void setImmediate(resolve))
      cached = `report ${loads}`
      return cached
    }
    const all = Promise.all(
      Array.from({ length: 50 }, () => flight.run(load, { read: () => cached })),
    )
    expect(new Set(await clock.until(all))).toEqual(new Set(['report 1']))
    expect(loads).toBe(1)
  })

  test('takes no lock when the value is there', async () => {
    const { client, wire } = makeWorld()
    expect(
      await client()
        .singleFlight('report')
        .run(() => 'made', { read: () => 'read' }),
    ).toBe('read')
    expect(wire.sent).toEqual([])
  })

  test('needs both functions', async () => {
    const { client } = makeWorld()
    const outcome = await outcomeOf(
      client()
        .singleFlight('report')
        .run(() => 1, undefined as never),
    )
    expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
  })
})
