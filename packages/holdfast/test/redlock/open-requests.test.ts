/** The end of a store waits for the requests that are on their way to a node. */
import { VirtualClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { OpenRequests } from '../../dist/stores/redlock/nodes/open-requests.js'
import { deferred } from '../support/world.js'

test('waits also for a request that follows from an answer, many steps later', async () => {
  const clock = new VirtualClock()
  const requests = new OpenRequests()
  const [first, second] = [deferred(), deferred()]
  const vote = requests.send(() => first.promise)
  const taken = (async () => {
    await vote
    for (let step = 0; step < 100; step += 1) await Promise.resolve()
    await requests.send(() => second.promise)
  })()
  let isOver = false
  const ended = requests.end(clock, 1000).then(() => (isOver = true))
  first.resolve()
  await clock.advance(500)
  expect(isOver).toBe(false)
  second.resolve()
  await clock.advance(1)
  await Promise.all([taken, ended])
  expect(clock.monotonicMs()).toBeLessThan(600)
})

test('waits for its time at most', async () => {
  const clock = new VirtualClock()
  const requests = new OpenRequests()
  void requests.send(() => new Promise(() => undefined))
  await clock.until(requests.end(clock, 1000))
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(1000)
})
