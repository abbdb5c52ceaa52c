/** A lease that user code forgot is announced while it lasts, and not when its time is over. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLocks, onLockEvent, type Clock } from 'holdfast'
import { expect, test } from 'vitest'
import type { HeldLease } from '../../../dist/lease/hold/held-lease.js'
import { deferred, makeWorld } from '../../support/world.js'

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
  await collect(announced, 50)
  off()
  expect(announced).toEqual(expected)
})

test.each([
  ['at a third of its TTL', 0],
  ['after a third of its TTL', 1_500],
])(
  'a fixed lease that was in use %s is announced when it is forgotten later',
  async (_, startMs) => {
    const world = makeWorld()
    const announced: string[] = []
    const off = onLockEvent('forgotten', ({ lock }) => announced.push(lock))
    const locks = createLocks(world.store, { clock: world.clock })
    const callback = deferred()
    const used = (async () => {
      const lease = await locks.mutex('used').acquire({ ttlMs: 3_000, renew: false })
      await world.clock.advance(startMs)
      void lease.run(() => callback.promise)
    })()
    await used
    await world.clock.advance(2_000 - startMs)
    await collect(announced, 5)
    expect(announced).toEqual([])
    callback.resolve()
    await collect(announced, 50)
    off()
    expect(announced).toEqual(['used'])
  },
)

/** Collects garbage until something is announced, for some rounds at most. */
async function collect(announced: readonly string[], most: number): Promise<void> {
  for (let rounds = 0; rounds < most && announced.length === 0; rounds += 1) {
    await turn()
    collectGarbage()
  }
}

test('nothing remembers a lease that is released in the tick in which it ages', async () => {
  const { clock, direct, store } = makeWorld()
  const lease = (await direct({ ttlMs: 3_000 }).mutex('x').acquire()) as HeldLease
  const renew = store.renew.bind(store)
  store.renew = (renewals) => {
    // It has aged by being renewed.
    void lease.release()
    return renew(renewals)
  }
  await clock.advance(1_100)
  expect(lease.held).toBe(false)
  expect(lease.services.leases.size).toBe(0)
})
