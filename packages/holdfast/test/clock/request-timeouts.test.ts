/** Patience: one timer for all open questions. */
import { VirtualClock } from '@holdfast/conformance'
import { expect, test } from 'vitest'
import { RequestTimeouts } from '../../src/clock/request-timeouts.js'

test('whoever is given up may ask anew in the same breath: there is one timer all the same', async () => {
  const clock = new VirtualClock()
  const patience = new RequestTimeouts(clock, 100)
  let givenUp = 0
  const ask = (): void => {
    patience.start(() => {
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
  const patience = new RequestTimeouts(clock, 100)
  let givenUp = 0
  patience.start(() => {
    throw new Error('a mistake of who asked')
  })
  patience.start(() => (givenUp += 1))
  await clock.advance(100).catch(() => undefined)
  await clock.advance(100).catch(() => undefined)
  expect(givenUp).toBe(1)
})

test('questions hear once that their answers are late, each in time, and are given up all the same', async () => {
  const clock = new VirtualClock()
  const patience = new RequestTimeouts(clock, 100, 30)
  const heard: string[] = []
  const note = (what: string) => (): void => void heard.push(`${what} at ${clock.monotonicMs()}`)
  patience.start(note('first given up'), note('first late'))
  await clock.advance(10)
  patience.start(note('second given up'), note('second late'))
  const answered = patience.start(note('answered'), note('answered'))
  patience.start(note('third given up'))
  await clock.advance(10)
  patience.settle(answered)
  await clock.advance(1000)
  expect(heard).toEqual([
    'first late at 30',
    'second late at 40',
    'first given up at 100',
    'second given up at 110',
    'third given up at 110',
  ])
  expect(clock.timers).toBe(0)
})

test('no answer is late because the process was stopped', async () => {
  const clock = new VirtualClock()
  const patience = new RequestTimeouts(clock, 1000, 30)
  let late = 0
  const question = patience.start(
    () => undefined,
    () => (late += 1),
  )
  clock.freeze(500)
  // The answer is read after the timers.
  setImmediate(() => patience.settle(question))
  await clock.advance(0)
  await clock.advance(100)
  expect(late).toBe(0)
})
