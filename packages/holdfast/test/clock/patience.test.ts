/** Patience: one timer for all open questions. */
import { VirtualClock } from 'holdfast/conformance'
import { expect, test } from 'vitest'
import { Patience } from '../../dist/clock/patience.js'

test('whoever is given up may ask anew in the same breath: there is one timer all the same', async () => {
  const clock = new VirtualClock()
  const patience = new Patience(clock, 100)
  let givenUp = 0
  const ask = (): void => {
    patience.begin(() => {
      givenUp += 1
      ask()
    })
  }
  ask()
  await clock.advance(10)
  ask()
  await clock.advance(1000)
  expect(givenUp).toBe(20)
  expect(clock.timers).toBe(1)
})

test('the rest is given up in time when one of them goes wrong', async () => {
  const clock = new VirtualClock()
  const patience = new Patience(clock, 100)
  let givenUp = 0
  patience.begin(() => {
    throw new Error('a mistake of who asked')
  })
  patience.begin(() => (givenUp += 1))
  await clock.advance(100).catch(() => undefined)
  await clock.advance(100).catch(() => undefined)
  expect(givenUp).toBe(1)
})
