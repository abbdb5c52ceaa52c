/** A store that a test directs, in virtual time. */
import { describe, expect, test } from 'vitest'
import { createLocks, LockLostError, type Locks } from '../../dist/index.js'
import {
  planFor,
  planForFirst,
  testingStore,
  VirtualClock,
  type TestingStore,
} from '../../dist/testing/index.js'

interface Setup {
  readonly clock: VirtualClock
  readonly store: TestingStore
  readonly locks: Locks
}

function setup(): Setup {
  const clock = new VirtualClock()
  const store = testingStore({ clock })
  return { clock, store, locks: createLocks(store) }
}

/** The TTL of locks is 30 s, and a lease is renewed each third of it. */
const RENEWED_MS = 10_000

describe('another process', () => {
  test('keeps a lock busy, and hands it over', async () => {
    const { clock, store, locks } = setup()
    const other = await store.elsewhere.mutex('order:42').acquire()
    expect(await locks.mutex('order:42').tryAcquire()).toBeUndefined()
    const waiting = locks.mutex('order:42').acquire({ waitMs: 5000 })
    await clock.advance(1000)
    await other.release()
    expect((await clock.until(waiting)).held).toBe(true)
  })

  test('keeps it for longer than a caller waits', async () => {
    const { clock, store, locks } = setup()
    await store.elsewhere.mutex('order:42').acquire()
    const waiting = locks.mutex('order:42').acquire({ waitMs: 5000 })
    await expect(clock.until(waiting)).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  })

  test('takes locks of all kinds', async () => {
    const { store, locks } = setup()
    await store.elsewhere.readWriteLock('config').read.acquire()
    expect(await locks.readWriteLock('config').write.tryAcquire()).toBeUndefined()
    expect(await locks.readWriteLock('config').read.tryAcquire()).toBeDefined()
    await store.elsewhere.semaphore('resize', { permits: 2 }).acquire({ weight: 2 })
    expect(await locks.semaphore('resize', { permits: 2 }).tryAcquire()).toBeUndefined()
  })
})

test('a lost lease aborts its signal at the next renewal', async () => {
  const { clock, store, locks } = setup()
  const lease = await locks.mutex('order:42').acquire()
  store.lose('order:42', 'moved to another machine')
  await clock.advance(RENEWED_MS)
  expect(lease.held).toBe(false)
  expect(lease.signal.reason).toBeInstanceOf(LockLostError)
  expect(String(lease.signal.reason)).toContain('moved to another machine')
})

describe('stalled renewals', () => {
  test('of one lock end its lease at its deadline, and no other', async () => {
    const { clock, store, locks } = setup()
    const [stalled, spared] = await Promise.all([
      locks.mutex('stalled').acquire(),
      locks.mutex('spared').acquire(),
    ])
    store.stallRenewals('stalled')
    await clock.advance(35_000)
    expect([stalled.held, spared.held]).toEqual([false, true])
    expect(stalled.signal.aborted).toBe(true)
  })

  test('of two locks end when each is resumed', async () => {
    const { clock, store, locks } = setup()
    const [first, second] = await Promise.all([
      locks.mutex('first').acquire(),
      locks.mutex('second').acquire(),
    ])
    const resumeFirst = store.stallRenewals('first')
    store.stallRenewals('second')
    await clock.advance(15_000)
    resumeFirst()
    await clock.advance(20_000)
    expect([first.held, second.held]).toEqual([true, false])
  })

  test('of all locks leave leases held that are renewed in time', async () => {
    const { clock, store, locks } = setup()
    const lease = await locks.mutex('order:42').acquire()
    const resume = store.stallRenewals()
    await clock.advance(20_000)
    resume()
    await clock.advance(60_000)
    expect(lease.held).toBe(true)
  })
})

describe('an outage', () => {
  test('fails calls that do not wait, and ends', async () => {
    const { store, locks } = setup()
    const end = store.fail()
    await expect(locks.mutex('order:42').tryAcquire()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    end()
    expect(await locks.mutex('order:42').tryAcquire()).toBeDefined()
  })

  test('lets a caller wait until it is over', async () => {
    const { clock, store, locks } = setup()
    store.fail()
    const waiting = locks.mutex('order:42').acquire()
    await clock.advance(10_000)
    store.heal()
    expect((await clock.until(waiting)).held).toBe(true)
  })
})

describe('a plan', () => {
  test('decides what no outage and no stall concerns', async () => {
    const { store, locks } = setup()
    store.plan = planForFirst('attempt', { drop: 'request', fails: true })
    const end = store.fail()
    const lock = locks.mutex('order:42')
    await expect(lock.tryAcquire()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    end()
    await expect(lock.tryAcquire()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await lock.tryAcquire()).toBeDefined()
  })

  test('stands beside a stall of another lock, and ends with heal', async () => {
    const { clock, store, locks } = setup()
    const lease = await locks.mutex('order:42').acquire()
    store.stallRenewals('order:43')
    store.plan = planFor({ renew: { drop: 'request' } })
    await clock.advance(20_000)
    expect(lease.remainingMs).toBeLessThan(10_000)
    store.heal()
    await clock.advance(5000)
    expect(lease.remainingMs).toBeGreaterThan(20_000)
  })
})

test('clients have the clock of their store, or none of their own', async () => {
  const clock = new VirtualClock()
  const store = testingStore({ clock })
  const lease = await createLocks(store).mutex('order:42').acquire({ renew: false })
  await clock.advance(30_000)
  expect(lease.held).toBe(false)
  expect(() => createLocks(store, { clock })).not.toThrow()
  expect(() => createLocks(store, { clock: new VirtualClock() })).toThrow(
    /two clocks.*createLocks\(testingStore\(\{ clock \}\)\)/,
  )
  expect(() => createLocks(testingStore(), { clock })).toThrow(/two clocks/)
})

test('a pause ends when the test moves time past it', async () => {
  const clock = new VirtualClock()
  let isOver = false
  const pause = clock.pause(1000).then(() => (isOver = true))
  await clock.advance(999)
  expect(isOver).toBe(false)
  await clock.until(pause)
  expect(clock.monotonicMs()).toBe(1000)
  await expect(clock.until(new Promise(() => undefined))).rejects.toThrow(/another clock/)
})

test('is used in the wrong way', async () => {
  expect(() => testingStore({ clocks: 1 } as object)).toThrow(/clock/)
  expect(() => testingStore({ clock: {} as never })).toThrow(/monotonicMs/)
  const { store } = setup()
  expect(() => store.lose('order:42')).toThrow(/No lease is held on "order:42".*await its lease/)
  const shop = createLocks(store, { namespace: 'shop' })
  await shop.mutex('order:42').acquire()
  expect(() => store.lose('order:42')).toThrow(/Held: "shop:order:42".*with its namespace/)
  expect(() => store.lose('')).toThrow(/must not be empty/)
  expect(() => store.stallRenewals(7 as never)).toThrow(/must be a string/)
})
