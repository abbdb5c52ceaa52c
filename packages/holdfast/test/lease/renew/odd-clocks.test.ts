/** Wall clocks that part from the monotonic clock all the time, as a mocked `Date` does. */
import { createLocks, type Clock, type Lease } from 'holdfast'
import { SeededRandom, type VirtualClock } from 'holdfast/testing'
import type { Store } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { makeWorld } from '../../support/world.js'

const START_MS = 1_700_000_000_000
const WALLS = {
  'stands still': () => START_MS,
  'goes backwards': (nowMs: number) => START_MS - nowMs,
  'runs three times as fast': (nowMs: number) => START_MS + 3 * nowMs,
} as const

interface Watched {
  readonly clock: VirtualClock
  readonly renewals: () => number
  acquire(): Promise<Lease>
}

function watched(wallMs: (nowMs: number) => number, ttlMs: number): Watched {
  const { clock, store } = makeWorld()
  let renewals = 0
  const odd: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => wallMs(clock.monotonicMs()),
    timer: (delayMs, fire) => clock.timer(delayMs, fire),
  }
  // Each verb takes a millisecond each way, as that of a server does.
  const far = new Proxy(store, {
    get(target, verb: keyof Store) {
      const member: unknown = target[verb]
      if (typeof member !== 'function' || verb === 'watch') return member
      return async (...args: unknown[]): Promise<unknown> => {
        if (verb === 'renew') renewals += 1
        await new Promise<void>((resolve) => void clock.timer(1, resolve))
        return member.apply(target, args) as unknown
      }
    },
  })
  const locks = createLocks(far, { clock: odd, random: new SeededRandom(1), ttlMs })
  return { clock, renewals: () => renewals, acquire: () => clock.until(locks.mutex('a').acquire()) }
}

describe.each([3000, 30_000])('a lease of %i ms', (ttlMs) => {
  test.each(Object.entries(WALLS))('stays held where the wall clock %s', async (_name, wallMs) => {
    const { clock, renewals, acquire } = watched(wallMs, ttlMs)
    const lease = await acquire()
    const held: boolean[] = []
    for (let turn = 0; turn < 200; turn += 1) {
      await clock.advance(ttlMs / 50)
      held.push(lease.held)
    }
    expect(held.filter((isHeld) => !isHeld).length).toBeLessThan(12)
    // The first two TTLs teach how far the clocks part.
    expect(held.slice(100)).not.toContain(false)
    expect(renewals()).toBeLessThan(60)
    expect(lease.signal.aborted).toBe(false)
  })
})

test('a waiter gets its lock where the clocks part by more than the margin in a round trip', async () => {
  const { clock, acquire } = watched((nowMs) => START_MS + 30 * nowMs, 1000)
  const lease = await acquire()
  expect(clock.monotonicMs()).toBeLessThan(20)
  await clock.until(lease.release())
})

test('a sleep of the machine is noticed, also after many steps of the wall clock', async () => {
  const { clock, client } = makeWorld()
  const lease = await clock.until(client({ ttlMs: 3000 }).mutex('a').acquire())
  for (let step = 0; step < 8; step += 1) {
    clock.stepWall(200)
    await clock.advance(200)
  }
  expect(lease.held).toBe(true)
  // The wall clock moves alone while the machine sleeps.
  clock.stepWall(3000)
  expect(lease.held).toBe(false)
})

test('a lease that stays held through a sleep has as much less time left', async () => {
  const { clock, client } = makeWorld()
  const lease = await clock.until(client({ ttlMs: 3000 }).mutex('a').acquire())
  for (let step = 0; step < 20; step += 1) {
    clock.stepWall(200)
    await clock.advance(500)
  }
  const leftMs = lease.remainingMs
  clock.stepWall(800)
  expect(lease.held).toBe(true)
  expect(lease.remainingMs).toBeLessThanOrEqual(leftMs - 800)
  await clock.until(lease.ensure(2500))
  expect(lease.remainingMs).toBeGreaterThanOrEqual(2500)
})

test('two sleeps within a minute are each noticed by the margin', async () => {
  const { clock, client } = makeWorld()
  const lease = await clock.until(client({ ttlMs: 3000 }).mutex('a').acquire())
  for (let sleep = 0; sleep < 2; sleep += 1) {
    clock.stepWall(50)
    expect(lease.held).toBe(false)
    await clock.advance(1100)
    expect(lease.held).toBe(true)
  }
})

test('while the store is away the signal of a lease in doubt aborts by its deadline', async () => {
  const { clock, client, wire } = makeWorld()
  const lease = await clock.until(client({ ttlMs: 3000 }).mutex('a').acquire())
  await clock.advance(1500)
  wire.fate = () => 'hang'
  const { remainingMs, signal } = lease
  clock.stepWall(200)
  expect(lease.held).toBe(false)
  expect(signal.aborted).toBe(false)
  await clock.advance(remainingMs)
  expect(signal.aborted).toBe(true)
})
