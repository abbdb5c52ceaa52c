/** Request timeouts: one timer for all open requests. */
import { VirtualClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { RequestTimeouts } from '../../dist/clock/request-timeouts.js'

test('a request that starts while another one times out shares its timer', async () => {
  const clock = new VirtualClock()
  const timeouts = new RequestTimeouts(clock, 100)
  let givenUp = 0
  const send = (): void => {
    timeouts.start(() => {
      givenUp += 1
      send()
    })
  }
  send()
  await clock.advance(10)
  send()
  await clock.advance(1000)
  expect(givenUp).toBe(20)
  expect(clock.timers).toBe(1)
})

test('a callback that throws leaves the timeouts of the other requests intact', async () => {
  const clock = new VirtualClock()
  const timeouts = new RequestTimeouts(clock, 100)
  let givenUp = 0
  timeouts.start(() => {
    throw new Error('a mistake of the caller')
  })
  timeouts.start(() => (givenUp += 1))
  await clock.advance(100).catch(() => undefined)
  await clock.advance(100).catch(() => undefined)
  expect(givenUp).toBe(1)
})

test('a request that was answered does not time out', async () => {
  const clock = new VirtualClock()
  const timeouts = new RequestTimeouts(clock, 100)
  let givenUp = 0
  const request = timeouts.start(() => (givenUp += 1))
  await clock.advance(50)
  expect(timeouts.end(request)).toBe(true)
  await clock.advance(1000)
  expect(givenUp).toBe(0)
  expect(timeouts.end(request)).toBe(false)
})
