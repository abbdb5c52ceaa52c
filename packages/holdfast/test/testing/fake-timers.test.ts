/** The fake timers of test runners. Those of Jest: scripts/packages/fixtures/jest. */
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
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
    const locks = createLocks(testingStore({ clock }))
    const lease = await locks.mutex('order:42').acquire()
    await clock.advance(100_000)
    expect(lease.held).toBe(true)
    await lease.release()
  })
})

// Jest replaces it, too.
test('a replaced nextTick holds up no call', async () => {
  const replaced = vi.spyOn(process, 'nextTick').mockImplementation(() => undefined)
  const lock = createLocks(testingStore()).mutex('order:42', { fairness: 'fifo' })
  const waits = [1, 2, 3].map(() => lock.acquire())
  for (const waiting of waits) await (await waiting).release()
  // An attempt waits for the end of the tick in which leases passed from caller to caller.
  const lease = await Promise.race([lock.acquire(), sleep(5000)])
  replaced.mockRestore()
  expect(lease?.held).toBe(true)
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
  const locks = createLocks(store)
  const lease = await locks.mutex('order:42').acquire()
  store.stallRenewals()
  mock.timers.tick(31_000)
  expect(lease.held).toBe(false)
  expect(lease.signal.aborted).toBe(true)
})
