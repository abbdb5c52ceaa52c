import { expect, test } from 'vitest'
import { RunningCallbacks } from '../../../dist/lease/hold/running-callbacks.js'

async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => (settled = true))
  await new Promise((resolve) => void setImmediate(resolve))
  return settled
}

test('settled waits for the callbacks that run, and for no later one', async () => {
  const callbacks = new RunningCallbacks()
  const [first, second] = [callbacks.begin(), callbacks.begin()]
  const settled = callbacks.settled()
  const later = callbacks.begin()
  callbacks.end(second)
  expect(await isSettled(settled)).toBe(false)
  callbacks.end(first)
  expect(await isSettled(settled)).toBe(true)
  expect(callbacks.size).toBe(1)
  callbacks.end(later)
  expect(callbacks.size).toBe(0)
})

test('settled counts no callback that began after it', async () => {
  const callbacks = new RunningCallbacks()
  const first = callbacks.begin()
  const settled = callbacks.settled()
  callbacks.end(callbacks.begin())
  expect(await isSettled(settled)).toBe(false)
  callbacks.end(first)
  expect(await isSettled(settled)).toBe(true)
})

test('idle waits for later callbacks too', async () => {
  const callbacks = new RunningCallbacks()
  const first = callbacks.begin()
  const idle = callbacks.idle()
  const later = callbacks.begin()
  callbacks.end(first)
  expect(await isSettled(idle)).toBe(false)
  callbacks.end(later)
  expect(await isSettled(idle)).toBe(true)
})
