/** The fake timers of test runners. Those of Jest: scripts/packages/fixtures/jest. */
import { mock } from 'node:test'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createLocks } from '../../dist/index.js'
import { dateClock, testingStore, VirtualClock } from '../../dist/testing/index.js'

afterEach(() => {
  vi.useRealTimers()
  mock.timers.reset()
})

describe('the fake timers of Vitest and of sinon', () => {
  test('move a wait on, and a lease', async () => {
    vi.useFakeTimers()
    await waitAndLose()
  })

  test('leave virtual time alone', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock()
    const locks = createLocks(testingStore({ clock }), { clock })
    const lease = await locks.mutex('order:42').acquire()
    await clock.advance(100_000)
    expect(lease.held).toBe(true)
    await lease.release()
  })
})

async function waitAndLose(): Promise<void> {
  const store = testingStore()
  const locks = createLocks(store)
  await store.elsewhere.mutex('order:42').acquire()
  const waiting = locks.mutex('order:42').acquire({ waitMs: 5000 })
  const refused = expect(waiting).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
  await vi.advanceTimersByTimeAsync(5000)
  await refused
  const lease = await locks.mutex('order:43').acquire()
  store.lose('order:43')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(lease.held).toBe(false)
  expect(lease.signal.aborted).toBe(true)
}

test('the timers of node:test move the clock of dates', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_700_000_000_000 })
  const store = testingStore({ clock: dateClock })
  const locks = createLocks(store, { clock: dateClock })
  const lease = await locks.mutex('order:42').acquire()
  store.stallRenewals()
  mock.timers.tick(31_000)
  expect(lease.held).toBe(false)
  expect(lease.signal.aborted).toBe(true)
})
