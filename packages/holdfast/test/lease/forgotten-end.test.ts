/** A lease that user code forgot is announced while it lasts, and not when its time is over. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLocks, onLockEvent, type Clock } from 'holdfast'
import { expect, test } from 'vitest'
import { makeWorld } from '../support/world.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test.each([
  ['lasts', 0, ['x']],
  ['is over, though no timer has fired yet', 5_000, []],
])('a fixed lease that %s', async (_, jumpMs, expected) => {
  const world = makeWorld()
  let aheadMs = 0
  const clock: Clock = {
    monotonicMs: () => world.clock.monotonicMs() + aheadMs,
    wallMs: () => world.clock.wallMs() + aheadMs,
    timer: (delayMs, fire) => world.clock.timer(delayMs, fire),
  }
  const locks = createLocks(world.store, { clock })
  const announced: string[] = []
  const off = onLockEvent('forgotten', ({ lock }) => announced.push(lock))
  await locks.mutex('x').acquire({ ttlMs: 3_000, renew: false })
  await world.clock.advance(1_100)
  aheadMs = jumpMs
  for (let rounds = 0; rounds < 50 && announced.length === 0; rounds += 1) {
    await turn()
    collectGarbage()
  }
  off()
  expect(announced).toEqual(expected)
})
