/**
 * A store that cannot be reached when a caller asks: how long the caller waits, and what it learns.
 */
import {
  createLocks,
  onLockEvent,
  StoreUnavailableError,
  type AcquireOptions,
  type LockEvents,
  type Locks,
} from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Claim } from '../../../dist/store/contract.js'
import { count, deferred, makeWorld, outcomeOf, type World } from '../../support/world.js'

const UNAVAILABLE = { error: { code: 'STORE_UNAVAILABLE' } }

/** A world whose store is away for a while from now on. */
async function awayFor(world: World, ms: number): Promise<void> {
  world.wire.fate = () => 'fail'
  await world.clock.advance(ms)
  world.wire.fate = () => 'deliver'
}

/** What was begun while the store is away, which it is for a while from now on. */
async function begunWithout<T>(
  world: World,
  ms: number,
  begin: () => Promise<T>,
): Promise<{ begun: Promise<T> }> {
  world.wire.fate = () => 'fail'
  const begun = begin()
  await awayFor(world, ms)
  return { begun }
}

function claimIds({ wire }: World): Set<string> {
  const attempts = wire.sent.filter(({ verb }) => verb === 'attempt')
  return new Set(attempts.map(({ argument }) => (argument as Claim).id))
}

/** Collects the outages that a client publishes. */
function outagesOf(locks: Locks): LockEvents['store-unavailable'][] {
  const outages: LockEvents['store-unavailable'][] = []
  const stop = onLockEvent('store-unavailable', (event) => {
    if (event.clientId === locks.clientId) outages.push(event)
  })
  onTestFinished(stop)
  return outages
}

/** Each way to wait for a lock. */
const WAYS: readonly (readonly [
  string,
  (locks: Locks, options: AcquireOptions) => Promise<unknown>,
])[] = [
  ['mutex.acquire', (locks, options) => locks.mutex('a').acquire(options)],
  ['mutex.run', (locks, options) => locks.mutex('a').run(() => 'ran', options)],
  [
    'a mutex with fairness fifo',
    (locks, options) => locks.mutex('a', { fairness: 'fifo' }).acquire(options),
  ],
  ['a fixed lease', (locks, options) => locks.mutex('a', { renew: false }).acquire(options)],
  ['a reader', (locks, options) => locks.readWriteLock('a').read.acquire(options)],
  ['a writer', (locks, options) => locks.readWriteLock('a').write.acquire(options)],
  [
    'a semaphore',
    (locks, options) => locks.semaphore('a', { permits: 3 }).acquire({ ...options, weight: 2 }),
  ],
  [
    'multi.acquire',
    (locks, options) => locks.multi([locks.mutex('a'), locks.mutex('b')]).acquire(options),
  ],
  [
    'multi.run',
    (locks, options) => locks.multi([locks.mutex('a'), locks.mutex('b')]).run(() => 1, options),
  ],
  ['a stripe', (locks, options) => locks.striped('a', { stripes: 2 }).for('key').acquire(options)],
  [
    'singleFlight',
    (locks, options) => locks.singleFlight('a').run(() => 1, { ...options, read: () => null }),
  ],
  ['election.campaign', (locks, options) => locks.election('a').campaign(options)],
]

describe.each(WAYS)('%s at a store that is away', (_, wait) => {
  test('waits, and succeeds when the store comes', async () => {
    const world = makeWorld()
    const { begun } = await begunWithout(world, 400, () => wait(world.client(), { waitMs: 10_000 }))
    await world.clock.until(begun)
    expect(world.clock.monotonicMs()).toBeLessThan(1000)
  })

  test('rejects with the error of the store when waitMs has passed', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const outcome = await world.clock.until(outcomeOf(wait(world.client(), { waitMs: 3000 })))
    expect(outcome).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/refused the attempt/) },
    })
    expect(world.clock.monotonicMs()).toBeGreaterThanOrEqual(3000)
    expect(world.clock.monotonicMs()).toBeLessThan(3010)
  })

  test('does not call the lock busy when no answer came within waitMs', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'hang'
    const outcome = await world.clock.until(outcomeOf(wait(world.client(), { waitMs: 600 })))
    expect(outcome).toMatchObject({
      error: {
        code: 'LOCK_TIMEOUT',
        waitMs: 600,
        isAnswered: false,
        message: expect.stringMatching(
          /^Lock "a(#\d)?" was not granted within 600 ms: the remote memory store did not answer\. It is unknown whether/,
        ),
      },
    })
  })

  test.each(['STORE_AUTH', 'STORE_CONFIG', 'STORE_FORMAT'] as const)(
    'rejects at once with %s',
    async (code) => {
      const world = makeWorld()
      const failing = {
        ...world.store,
        name: 'failing',
        attempt: () => Promise.reject(new StoreUnavailableError('No.', { code })),
      }
      const locks = createLocks(failing, { clock: world.clock })
      const outcome = await world.clock.until(outcomeOf(wait(locks, { waitMs: 10_000 })))
      expect(outcome).toMatchObject({ error: { code } })
      expect(world.clock.monotonicMs()).toBeLessThan(10)
    },
  )

  test('tries once with waitMs: 0', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const outcome = await world.clock.until(outcomeOf(wait(world.client(), { waitMs: 0 })))
    expect(outcome).toMatchObject(UNAVAILABLE)
    expect(world.clock.monotonicMs()).toBeLessThan(10)
    expect(count(world, 'attempt')).toBe(1)
  })

  test('ends with its signal', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const controller = new AbortController()
    const reason = new Error('enough')
    const waiting = outcomeOf(wait(world.client(), { signal: controller.signal }))
    await world.clock.advance(500)
    controller.abort(reason)
    expect(await waiting).toEqual({ error: reason })
    const sent = count(world, 'attempt')
    world.wire.fate = () => 'deliver'
    await world.clock.advance(3000)
    expect(count(world, 'attempt')).toBe(sent)
  })
})

describe('a caller that does not say how long it waits', () => {
  test.each(WAYS.slice(0, -1))('gives up after 30 s of an outage: %s', async (_, wait) => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    expect(await world.clock.until(outcomeOf(wait(world.client(), {})))).toMatchObject(UNAVAILABLE)
    expect(world.clock.monotonicMs()).toBeGreaterThanOrEqual(30_000)
    expect(world.clock.monotonicMs()).toBeLessThan(31_100)
  })

  test('waits for a busy lock for longer, and through a shorter outage', async () => {
    const world = makeWorld()
    const holder = await world.direct().mutex('a').acquire()
    const waiting = world.client().mutex('a').acquire()
    await world.clock.advance(40_000)
    await awayFor(world, 20_000)
    await world.clock.advance(20_000)
    await awayFor(world, 20_000)
    await holder.release()
    expect((await world.clock.until(waiting)).held).toBe(true)
  })

  test('waits for as long as the client says', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const locks = world.client({ waitMs: 50_000 })
    expect(await world.clock.until(outcomeOf(locks.mutex('a').acquire()))).toMatchObject(
      UNAVAILABLE,
    )
    expect(Math.round(world.clock.monotonicMs() / 100)).toBe(500)
  })

  test('does not count the time in which its process was stopped', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const waiting = world.client().mutex('a').acquire()
    await world.clock.advance(10_000)
    world.clock.freeze(60_000)
    await world.clock.advance(5000)
    world.wire.fate = () => 'deliver'
    expect((await world.clock.until(waiting)).held).toBe(true)
  })

  test('campaigns in an election through an outage of any length', async () => {
    const world = makeWorld()
    const candidate = world.client().election('a')
    const { begun } = await begunWithout(world, 300_000, () => candidate.campaign())
    expect((await world.clock.until(begun)).held).toBe(true)
  })
})

describe('an attempt that found no store', () => {
  test('is sent again with the same claim, and granted once', async () => {
    const world = makeWorld()
    // Granted, and the answer is lost.
    world.wire.fate = (verb) => (verb === 'attempt' ? 'drop-reply' : 'deliver')
    const locks = world.client({ requestTimeoutMs: 500 })
    const waiting = locks.mutex('a').acquire({ waitMs: 10_000 })
    await world.clock.advance(3000)
    world.wire.fate = () => 'deliver'
    const lease = await world.clock.until(waiting)
    expect(claimIds(world).size).toBe(1)
    const holders = (await locks.inspect()).locks[0]?.holders.map(({ claimId, token }) => [
      claimId,
      token,
    ])
    expect(holders).toEqual([[lease.claimId, lease.token]])
    await world.clock.until(lease.release())
    expect(await world.direct().mutex('a').tryAcquire()).toBeDefined()
  })

  test('keeps the place in the queue that it got unheard', async () => {
    const world = makeWorld()
    const holder = await world.direct().mutex('a').acquire()
    world.wire.fate = (verb) => (verb === 'attempt' ? 'drop-reply' : 'deliver')
    const order: string[] = []
    const first = world.client({ requestTimeoutMs: 500 }).mutex('a')
    const waiting = first.run(() => void order.push('first'), { waitMs: 10_000 })
    await world.clock.advance(100)
    const second = world
      .direct()
      .mutex('a')
      .run(() => void order.push('second'))
    await world.clock.advance(1000)
    world.wire.fate = () => 'deliver'
    await world.clock.advance(1500)
    await holder.release()
    await world.clock.until(Promise.all([waiting, second]))
    expect(order).toEqual(['first', 'second'])
  })

  test('has its whole TTL where the lease is not renewed', async () => {
    const world = makeWorld()
    world.wire.fate = (verb) => (verb === 'attempt' ? 'drop-reply' : 'deliver')
    const locks = world.client({ requestTimeoutMs: 500, ttlMs: 10_000 })
    const waiting = locks.mutex('a', { renew: false }).acquire({ waitMs: 20_000 })
    await world.clock.advance(3000)
    world.wire.fate = () => 'deliver'
    expect((await world.clock.until(waiting)).remainingMs).toBeGreaterThan(9700)
  })

  test('leaves nothing behind when its caller gives up', async () => {
    const world = makeWorld()
    world.wire.fate = (verb) => (verb === 'attempt' ? 'drop-reply' : 'fail')
    const locks = world.client({ requestTimeoutMs: 500 })
    const outcome = await world.clock.until(outcomeOf(locks.mutex('a').acquire({ waitMs: 2000 })))
    expect(outcome).toMatchObject(UNAVAILABLE)
    world.wire.fate = () => 'deliver'
    await world.clock.advance(1000)
    expect(await world.direct().mutex('a').tryAcquire()).toBeDefined()
  })

  test('that is not answered at all rejects with STORE_UNAVAILABLE, not with a timeout', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'hang'
    const outcome = await world.clock.until(
      outcomeOf(world.client().mutex('a').acquire({ waitMs: 2000 })),
    )
    expect(outcome).toMatchObject({
      error: { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/does not answer/) },
    })
  })

  test('of a store that throws at once is sent again, too', async () => {
    const world = makeWorld()
    let away = true
    const attempt: typeof world.store.attempt = (...args) => {
      if (away) throw new StoreUnavailableError('Away.')
      return world.store.attempt(...args)
    }
    const { store } = world
    const flaky = {
      ...store,
      attempt,
      watch: store.watch.bind(store),
      withdraw: store.withdraw.bind(store),
    }
    const locks = createLocks(
      { ...flaky, name: 'flaky', traits: store.traits },
      { clock: world.clock },
    )
    const waiting = Promise.all(
      (['cohort', 'fifo'] as const).map((fairness) =>
        locks.mutex(fairness, { fairness }).acquire({ waitMs: 5000 }),
      ),
    )
    await world.clock.advance(300)
    away = false
    expect((await world.clock.until(waiting)).every(({ held }) => held)).toBe(true)
  })
})

describe('a wait that ends before the answer', () => {
  test('behind a release that is not answered does not call the lock busy', async () => {
    const world = makeWorld()
    const mutex = world.client({ awaitRelease: false }).mutex('a')
    const run = mutex.run(() => {
      world.wire.fate = () => 'hang'
    })
    await world.clock.until(run)
    const waiting = outcomeOf(mutex.acquire({ waitMs: 500 }))
    expect(await world.clock.until(waiting)).toMatchObject({ error: { isAnswered: false } })
  })

  test('calls the lock busy when an earlier attempt was answered', async () => {
    const world = makeWorld()
    await world.direct().mutex('a').acquire()
    const waiting = outcomeOf(world.client().mutex('a').acquire({ waitMs: 15_000 }))
    await world.clock.advance(14_700)
    world.wire.fate = () => 'hang'
    expect(await world.clock.until(waiting)).toMatchObject({
      error: {
        isAnswered: true,
        message: expect.stringMatching(/still busy after 15000 ms, held/),
      },
    })
  })

  test('calls the lock busy when its own client held it for most of the wait', async () => {
    const world = makeWorld()
    const mutex = world.client({ maxHoldMs: 900 }).mutex('a')
    await world.clock.until(mutex.acquire())
    const waiting = outcomeOf(mutex.acquire({ waitMs: 990 }))
    await world.clock.advance(500)
    world.wire.fate = () => 'hang'
    expect(await world.clock.until(waiting)).toMatchObject({
      error: { isAnswered: true, message: expect.stringMatching(/still busy after 990 ms/) },
    })
  })
})

describe('callers that wait through an outage', () => {
  test('are served in the order of their calls, those that come during the outage included', async () => {
    const world = makeWorld()
    const locks = world.client()
    const { read, write } = locks.readWriteLock('a', { fairness: 'fifo' })
    const order: number[] = []
    world.wire.fate = () => 'fail'
    const all: Promise<unknown>[] = []
    for (let number = 0; number < 12; number += 1) {
      // Their attempts fail in another order.
      world.wire.latencyMs = 12 - number
      all.push(
        (number % 3 === 0 ? write : read).run(() => void order.push(number), { waitMs: 20_000 }),
      )
      await world.clock.advance(number < 6 ? 0 : 70)
    }
    world.wire.latencyMs = 1
    await world.clock.advance(800)
    world.wire.fate = () => 'deliver'
    all.push(read.run(() => void order.push(12), { waitMs: 20_000 }))
    await world.clock.until(Promise.all(all))
    expect(order).toEqual(Array.from({ length: 13 }, (_, number) => number))
  })

  test('cost one round of requests a second', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const locks = world.client()
    const names = Array.from({ length: 100 }, (_, index) => `lock ${index}`)
    const waiting = names.map((name) => outcomeOf(locks.mutex(name).acquire({ waitMs: 60_000 })))
    await world.clock.advance(5000)
    world.wire.sent.length = 0
    await world.clock.advance(30_000)
    const moments = new Set(world.wire.sent.map(({ atMs }) => atMs))
    expect(moments.size).toBeLessThan(42)
    expect(world.wire.sent.length).toBe(100 * moments.size)
    await world.clock.until(Promise.all(waiting))
  })

  test('let tryAcquire beside them reject with STORE_UNAVAILABLE', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const mutex = world.client().mutex('a')
    void outcomeOf(mutex.acquire({ waitMs: 5000 }))
    await world.clock.advance(100)
    expect(await world.clock.until(outcomeOf(mutex.tryAcquire()))).toMatchObject(UNAVAILABLE)
  })

  test('each have their own time', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const mutex = world.client().mutex('a')
    const ends: Record<string, number> = {}
    const note = async (name: string, options: AcquireOptions): Promise<void> => {
      expect(await outcomeOf(mutex.acquire(options))).toMatchObject(UNAVAILABLE)
      ends[name] = Math.floor(world.clock.monotonicMs() / 1000)
    }
    const all = Promise.all([
      note('2 s', { waitMs: 2000 }),
      note('no limit', {}),
      note('40 s', { waitMs: 40_000 }),
    ])
    await world.clock.until(all)
    expect(ends).toMatchObject({ '2 s': 2, '40 s': 40 })
    expect([30, 31]).toContain(ends['no limit'])
  })

  test('end when their client closes', async () => {
    const world = makeWorld()
    world.wire.fate = () => 'fail'
    const locks = world.client()
    const waiting = outcomeOf(locks.mutex('a').acquire({ waitMs: 50_000 }))
    await world.clock.advance(100)
    await world.clock.until(locks.close())
    expect(await waiting).toMatchObject({ error: { code: 'LOCKS_CLOSED' } })
    const sent = count(world, 'attempt')
    await world.clock.advance(3000)
    expect(count(world, 'attempt')).toBe(sent)
  })

  test('hold no lock that they do not know of', async () => {
    const world = makeWorld()
    const mutex = world.client().mutex('a')
    const { begun } = await begunWithout(world, 3000, () =>
      mutex.run(() => 'ran', { waitMs: 10_000 }),
    )
    expect(await world.clock.until(begun)).toBe('ran')
    await world.clock.advance(100)
    expect(await world.direct().mutex('a').tryAcquire()).toBeDefined()
  })
})

describe('the event store-unavailable', () => {
  test('comes once for each claim and outage, after a second', async () => {
    const world = makeWorld()
    const locks = world.client()
    const outages = outagesOf(locks)
    const holder = await world.direct().mutex('b').acquire()
    const second = locks.mutex('b').acquire({ waitMs: 60_000 })
    await world.clock.advance(100)
    world.wire.fate = () => 'fail'
    const first = locks.mutex('a').acquire({ waitMs: 60_000 })
    await world.clock.advance(990)
    expect(outages).toEqual([])
    await world.clock.advance(8000)
    expect(outages.map(({ lock }) => lock).sort()).toEqual(['a', 'b'])
    const error = expect.any(StoreUnavailableError) as unknown
    for (const event of outages) expect(event).toMatchObject({ store: 'remote memory', error })
    for (const { durationMs } of outages) expect(durationMs).toBeGreaterThanOrEqual(1000)
    for (const { durationMs } of outages) expect(durationMs).toBeLessThan(2500)
    world.wire.fate = () => 'deliver'
    await world.clock.until(first)
    await awayFor(world, 3000)
    expect(outages.map(({ lock }) => lock).sort()).toEqual(['a', 'b', 'b'])
    await holder.release()
    await world.clock.until(second)
  })

  test('comes when an answer takes so long, and not when the process was stopped meanwhile', async () => {
    const world = makeWorld()
    const locks = world.client()
    const outages = outagesOf(locks)
    world.wire.fate = () => 'hang'
    const hanging = outcomeOf(locks.mutex('a').acquire({ waitMs: 2000 }))
    await world.clock.advance(995)
    expect(outages).toEqual([])
    await world.clock.advance(10)
    expect(outages).toMatchObject([{ lock: 'a', durationMs: 1000 }])
    await world.clock.until(hanging)
    world.wire.fate = () => 'deliver'
    const waiting = locks.mutex('b').acquire({ waitMs: 60_000 })
    world.clock.freeze(4000)
    expect((await world.clock.until(waiting)).held).toBe(true)
    expect(outages).toHaveLength(1)
  })

  test('comes also when a claim that began again gets no answer', async () => {
    const world = makeWorld()
    const { clock, wire } = world
    const locks = world.client({ ttlMs: 500 })
    const outages = outagesOf(locks)
    // The first grant has ended when its answer comes.
    wire.latencyMs = 400
    const waiting = outcomeOf(locks.mutex('a').acquire({ waitMs: 60_000 }))
    await clock.advance(100)
    wire.fate = (verb) => (verb === 'attempt' ? 'hang' : 'deliver')
    await clock.advance(1600)
    expect(outages).toEqual([])
    await clock.advance(200)
    expect(outages).toMatchObject([{ lock: 'a' }])
    wire.latencyMs = 1
    wire.fate = () => 'deliver'
    expect(await clock.until(waiting)).toHaveProperty('value')
  })

  test('comes in time beside a caller that waits for a lease of its own client', async () => {
    const world = makeWorld()
    const { clock, wire } = world
    const locks = world.client()
    const outages = outagesOf(locks)
    const held = await clock.until(locks.mutex('own').acquire())
    const own = outcomeOf(locks.mutex('own').acquire())
    await clock.advance(1500)
    wire.fate = (verb) => (verb === 'attempt' ? 'hang' : 'deliver')
    const tried = outcomeOf(locks.mutex('a').tryAcquire({ waitMs: 2000 }))
    await clock.advance(1005)
    expect(outages).toMatchObject([{ lock: 'a', durationMs: 1000 }])
    expect(await clock.until(tried)).toMatchObject(UNAVAILABLE)
    // The claim for the other caller begins when the lease ends.
    await clock.until(held.release())
    await clock.advance(2005)
    expect(outages).toMatchObject([{ lock: 'a' }, { lock: 'own' }])
    wire.fate = () => 'deliver'
    expect(await clock.until(own)).toHaveProperty('value')
  })

  test('does not come for a shorter outage, or to those that do not wait', async () => {
    const world = makeWorld()
    const locks = world.client()
    const outages = outagesOf(locks)
    const { begun } = await begunWithout(world, 800, () =>
      locks.mutex('a').acquire({ waitMs: 60_000 }),
    )
    await world.clock.until(begun)
    world.wire.fate = () => 'hang'
    expect(await world.clock.until(outcomeOf(locks.mutex('c').tryAcquire()))).toMatchObject(
      UNAVAILABLE,
    )
    expect(outages).toEqual([])
  })
})

test('an older request that fails after a newer one was answered is no outage', async () => {
  const world = makeWorld()
  const gate = deferred()
  const holder = await world.direct().mutex('a').acquire()
  const locks = world.client({ requestTimeoutMs: 3000 })
  const waiting = outcomeOf(locks.mutex('a').acquire({ waitMs: 6000 }))
  await world.clock.advance(500)
  let hung = 0
  world.wire.fate = (verb) => (verb === 'attempt' && (hung += 1) === 1 ? 'hang' : 'deliver')
  gate.resolve()
  // The wait ends shortly after that request was given up.
  expect(await world.clock.until(waiting)).toMatchObject({ error: { code: 'LOCK_TIMEOUT' } })
  await holder.release()
})
