/** Limits on the wait for an answer. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { settlesWithin } from '../../dist/clock/settles-within.js'
import { withTimeout } from '../../dist/clock/with-timeout.js'

const late = (): Error => new Error('late')

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('an answer in time is given on, and leaves no timer behind', async () => {
  await expect(withTimeout(Promise.resolve('answer'), 100, late)).resolves.toBe('answer')
  await expect(withTimeout(Promise.reject(new Error('failed')), 100, late)).rejects.toThrow(
    'failed',
  )
  expect(vi.getTimerCount()).toBe(0)
})

test('an answer that does not come is given up at the limit', async () => {
  let fail!: (error: Error) => void
  const answer = new Promise<never>((_, reject) => (fail = reject))
  const outcome = expect(withTimeout(answer, 100, late)).rejects.toThrow('late')
  vi.advanceTimersByTime(100)
  await outcome
  // No caller waits for it any more, and none has to.
  fail(new Error('too late'))
})

test('settlesWithin is true for a result or a failure, and leaves no timer behind', async () => {
  await expect(settlesWithin(Promise.resolve(), 100)).resolves.toBe(true)
  await expect(settlesWithin(Promise.reject(new Error('failed')), 100)).resolves.toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('settlesWithin is false at the limit', async () => {
  const outcome = settlesWithin(new Promise(() => undefined), 100)
  vi.advanceTimersByTime(100)
  await expect(outcome).resolves.toBe(false)
})
