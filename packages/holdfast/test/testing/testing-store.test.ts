/** A store that a test directs, in virtual time. */
import { describe, expect, test } from 'vitest'
import { createLocks, LockLostError, type Locks } from '../../dist/index.js'
import { testingStore, VirtualClock, type TestingStore } from '../../dist/testing/index.js'

interface Setup {
  readonly clock: VirtualClock
  readonly store: TestingStore
  readonly locks: Locks
}

function setup(): Setup {
  const clock = new VirtualClock()
  const store = testingStore({ clock })
  return { clock, store, locks: createLocks(store, { clock }) }
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

test('is used in the wrong way', () => {
  expect(() => testingStore({ clocks: 1 } as object)).toThrow(/clock/)
  expect(() => testingStore({ clock: {} as never })).toThrow(/monotonicMs/)
  const { store } = setup()
  expect(() => store.lose('')).toThrow(/must not be empty/)
  expect(() => store.stallRenewals(7 as never)).toThrow(/must be a string/)
})
