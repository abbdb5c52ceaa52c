/** Leases whose renewals get no answer: what is announced, and when. */
import { onLockEvent, type LockEvents } from 'holdfast'
import { afterEach, expect, test } from 'vitest'
import { makeWorld } from '../../support/world.js'

const TTL_MS = 3000

const listeners: (() => void)[] = []
afterEach(() => {
  for (const stop of listeners.splice(0)) stop()
})

function record() {
  const events: { name: string; atMs: number; remainingMs: number; lock: string }[] = []
  const world = makeWorld()
  for (const name of ['at-risk', 'safe', 'lost'] as const) {
    const note = (event: LockEvents[typeof name]): void => {
      const remainingMs = 'remainingMs' in event ? event.remainingMs : 0
      events.push({ name, atMs: world.clock.monotonicMs(), remainingMs, lock: event.lock })
    }
    listeners.push(onLockEvent(name, note))
  }
  return { ...world, events }
}

test('at-risk comes when half the TTL is left, and safe with the first answer', async () => {
  const { clock, wire, client, events } = record()
  const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
  wire.fate = () => 'fail'
  await clock.advance(TTL_MS * 0.45)
  expect(events).toEqual([])
  await clock.advance(TTL_MS * 0.1)
  expect(events).toMatchObject([{ name: 'at-risk', lock: 'a' }])
  expect(events[0]?.remainingMs).toBeGreaterThan(TTL_MS * 0.48)
  expect(events[0]?.remainingMs).toBeLessThanOrEqual(TTL_MS / 2)
  await clock.advance(TTL_MS * 0.2)
  expect(events).toHaveLength(1)
  wire.fate = () => 'deliver'
  await clock.advance(TTL_MS / 5)
  expect(events).toMatchObject([{}, { name: 'safe', lock: 'a' }])
  expect(events[1]?.remainingMs).toBeGreaterThan(TTL_MS * 0.9)
  expect(lease.held).toBe(true)
})

test('each outage is announced, and a lease that ends is lost and not safe', async () => {
  const { clock, wire, client, events } = record()
  const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
  wire.fate = () => 'hang'
  await clock.advance(TTL_MS * 0.7)
  wire.fate = () => 'deliver'
  await clock.advance(TTL_MS)
  wire.fate = () => 'hang'
  await clock.advance(2 * TTL_MS)
  expect(events.map(({ name }) => name)).toEqual(['at-risk', 'safe', 'at-risk', 'lost'])
  expect(lease.held).toBe(false)
})

test('nothing is announced while renewals are answered, or after a release', async () => {
  const { clock, wire, client, events } = record()
  const locks = client({ ttlMs: TTL_MS })
  const [renewed, fixed, released] = await clock.until(
    Promise.all([
      locks.mutex('renewed').acquire(),
      locks.mutex('fixed', { renew: false }).acquire(),
      locks.mutex('released').acquire(),
    ]),
  )
  await clock.advance(TTL_MS / 4)
  await clock.until(released.release())
  await clock.until(fixed.release())
  wire.latencyMs = TTL_MS / 20
  await clock.advance(5 * TTL_MS)
  expect(renewed.held).toBe(true)
  expect(events).toEqual([])
})
