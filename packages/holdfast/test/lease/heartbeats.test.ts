/** The timer of the heartbeats outlasts those who waited, and keeps the process alive only for those who do. */
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/clock/clock.js'
import { outcomeOf } from '../support/world.js'

/** The system's clock, which tells how many of its timers keep the process alive. */
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

test('a wait keeps the process alive, also the next one, and nothing does when nobody waits', async () => {
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
