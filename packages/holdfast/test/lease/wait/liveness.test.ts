/** Timers keep the process alive for callers whose wait will end, and only for them. */
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/clock/clock.js'
import { outcomeOf } from '../../support/world.js'

/** The system's clock, with a count of the timers that keep the process alive. */
function countingClock() {
  const holding = new Set<object>()
  const clock: Clock = {
    ...systemClock,
    timer(delayMs, fire, background = false) {
      const key = {}
      const hold = (needed: boolean): void => void (needed ? holding.add(key) : holding.delete(key))
      const timer = systemClock.timer(
        delayMs,
        () => {
          holding.delete(key)
          fire()
        },
        background,
      )
      hold(!background)
      return {
        cancel() {
          holding.delete(key)
          timer.cancel()
        },
        hold(needed) {
          hold(needed)
          timer.hold?.(needed)
        },
      }
    },
  }
  return { clock, holding: () => holding.size }
}

test('a wait keeps the process alive, also the next one, and no timer does without a wait', async () => {
  const { clock, holding } = countingClock()
  const store = memoryStore()
  const holder = await createLocks(store).mutex('a').acquire()
  const locks = createLocks(store, { clock })
  for (let wait = 0; wait < 2; wait += 1) {
    const controller = new AbortController()
    const outcome = outcomeOf(locks.mutex('a').acquire({ signal: controller.signal }))
    expect(holding()).toBeGreaterThan(0)
    controller.abort()
    await outcome
    expect(holding()).toBe(0)
  }
  await holder.release()
  await locks.close()
})

test('behind a holder of the same process a wait keeps it alive where the hold ends by itself', async () => {
  const { clock, holding } = countingClock()
  const locks = createLocks(memoryStore(), { clock, ttlMs: 300 })
  const mutex = locks.mutex('a', { maxHoldMs: 200 })
  const first = await mutex.acquire()
  expect(holding()).toBe(0)
  const controller = new AbortController()
  const impatient = outcomeOf(mutex.acquire({ signal: controller.signal }))
  expect(holding()).toBe(1)
  controller.abort()
  await impatient
  expect(holding()).toBe(0)
  const waiting = mutex.acquire()
  expect(holding()).toBe(1)
  const ended = new Promise((resolve) => first.signal.addEventListener('abort', resolve))
  await ended
  // The lock is free when the TTL ends.
  expect(holding()).toBe(1)
  const second = await waiting
  expect(second.held).toBe(true)
  expect(holding()).toBe(0)
  await second.release()
  await locks.close()
})

test('behind a holder of the same process that holds forever a wait keeps nothing alive', async () => {
  const { clock, holding } = countingClock()
  const locks = createLocks(memoryStore(), { clock })
  const first = await locks.mutex('a', { maxHoldMs: 60_000 }).acquire()
  const waiting = [locks.mutex('a').acquire(), locks.mutex('a').acquire()]
  expect(holding()).toBe(1)
  await first.release()
  const second = await waiting[0]
  expect(second?.held).toBe(true)
  expect(holding()).toBe(0)
  await second?.release()
  await (await waiting[1])?.release()
  await locks.close()
})
