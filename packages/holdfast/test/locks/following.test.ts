/** The time limit of a semaphore that follows the number of permits in force. */
import { expect, test } from 'vitest'
import { makeWorld, outcomeOf } from '../support/world.js'

const NEW = { permits: 4, onMismatch: 'follow' } as const

test.each([{ waitMs: 500 }, undefined])('waits for %j as a whole', async (options) => {
  const world = makeWorld()
  const locks = world.client({ waitMs: 500 })
  const old = await world.direct().semaphore('s', { permits: 1 }).acquire()
  world.wire.latencyMs = 100
  const startedMs = world.clock.monotonicMs()
  const next = locks.semaphore('s', NEW)
  const outcomes = [outcomeOf(next.acquire(options)), outcomeOf(next.run(() => 1, options))]
  for (const outcome of await world.clock.until(Promise.all(outcomes))) {
    expect(outcome).toHaveProperty('error.message', expect.stringContaining('after 500 ms'))
  }
  expect(world.clock.monotonicMs() - startedMs).toBe(500)
  expect(old.held).toBe(true)
})

test('the timeout of another lock inside of the work is the error of the work', async () => {
  const world = makeWorld()
  const locks = world.client()
  const direct = world.direct()
  await direct.semaphore('s', { permits: 2 }).acquire()
  await direct.mutex('busy').acquire()
  const inner = (): Promise<unknown> => locks.mutex('busy').acquire({ waitMs: 20 })
  const outcome = await world.clock.until(
    outcomeOf(locks.semaphore('s', NEW).run(inner, { waitMs: 500 })),
  )
  expect(outcome).toHaveProperty('error.lock', 'busy')
  expect(outcome).toHaveProperty('error.message', expect.stringContaining('after 20 ms'))
})
