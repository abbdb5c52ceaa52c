/** What a holder asks of its lease: another TTL, and time that remains. */
import type { Renewal } from 'holdfast/store'
import { expect, test } from 'vitest'
import { makeWorld, outcomeOf } from '../../support/world.js'

const TTL_MS = 3000

/** A lease behind a wire, and the TTLs that its renewals ask for. */
async function held(options: { readonly renew?: boolean; readonly maxHoldMs?: number } = {}) {
  const world = makeWorld()
  const locks = world.client({ ttlMs: TTL_MS })
  const lease = await world.clock.until(locks.mutex('a', options).acquire())
  const askedTtls = (): number[] =>
    world.wire.sent
      .filter(({ verb }) => verb === 'renew')
      .map(({ argument }) => (argument as Renewal[])[0]?.ttlMs ?? NaN)
  return { ...world, locks, lease, askedTtls }
}

test('a longer TTL applies from the renewal on, and sets the rhythm', async () => {
  const { clock, lease, askedTtls } = await held()
  await clock.until(lease.renew({ ttlMs: 10 * TTL_MS }))
  expect(lease.remainingMs).toBeGreaterThan(9 * TTL_MS)
  await clock.advance(9 * TTL_MS)
  expect(askedTtls()).toEqual(Array.from({ length: 3 }, () => 10 * TTL_MS))
  expect(lease.held).toBe(true)
  expect(await clock.until(lease.release())).toBe('released')
})

test('a shorter TTL lowers the deadline before the request leaves', async () => {
  const { clock, wire, lease } = await held()
  let remainingMs = Infinity
  wire.fate = () => {
    remainingMs = lease.remainingMs
    return 'hang'
  }
  void lease.renew({ ttlMs: 300 })
  await clock.advance(0)
  expect(remainingMs).toBeLessThan(300)
  await clock.advance(300)
  expect(lease.held).toBe(false)
})

test('another TTL for a lease that was released meanwhile leaves the next lease of its grant alone', async () => {
  const { clock, client } = makeWorld()
  const mutex = client({ ttlMs: TTL_MS }).mutex('a')
  const [first, second, third] = [mutex.acquire(), mutex.acquire(), mutex.acquire()]
  void (await clock.until(first)).release()
  const lease = await clock.until(second)
  void lease.release()
  expect(await outcomeOf(lease.renew({ ttlMs: 300 }))).toMatchObject({
    error: { code: 'LOCK_USAGE' },
  })
  const next = await clock.until(third)
  // The hand-off made no request, so the grant is the same one.
  expect(next.claimId).toBe(lease.claimId)
  expect(next.remainingMs).toBeGreaterThan(300)
})

test('another TTL for a lease that is released in the same tick leaves the next lease alone', async () => {
  const { clock, client } = makeWorld()
  const mutex = client({ ttlMs: TTL_MS }).mutex('a')
  const [first, second] = [mutex.acquire(), mutex.acquire()]
  const lease = await clock.until(first)
  const renewed = outcomeOf(lease.renew({ ttlMs: 300 }))
  void lease.release()
  const next = await clock.until(second)
  expect(next.claimId).not.toBe(lease.claimId)
  expect(next.remainingMs).toBeGreaterThan(300)
  expect(await renewed).toMatchObject({ error: { code: 'LOCK_USAGE' } })
})

test('ensure rejects when the lease was released or lost, also for no time', async () => {
  const { clock, lease, locks, store } = await held()
  await clock.until(lease.release())
  await expect(lease.ensure(0)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  const lost = await clock.until(locks.mutex('a').acquire())
  await store.steal('a', { now: true })
  await clock.until(outcomeOf(lost.renew()))
  await expect(lost.ensure(0)).rejects.toMatchObject({ code: 'LOCK_LOST' })
})

test('a renewal with a shorter TTL whose answer is lost is repeated before the new end', async () => {
  const { clock, wire, lease } = await held()
  wire.fate = () => 'drop-reply'
  lease.renew({ ttlMs: 600 }).catch(() => undefined)
  await clock.advance(5)
  wire.fate = () => 'deliver'
  await clock.advance(10 * TTL_MS)
  expect(lease.held).toBe(true)
})

test('a longer TTL does not count while a renewal with a shorter one may still arrive', async () => {
  const { clock, wire, lease } = await held()
  wire.latencyMs = 200
  // The renewal of the old TTL is on its way.
  await clock.advance(TTL_MS / 3 + 100)
  const renewed = lease.renew({ ttlMs: 10 * TTL_MS })
  await clock.until(renewed)
  expect(lease.remainingMs).toBeLessThan(TTL_MS)
  expect(lease.held).toBe(true)
  await clock.advance(TTL_MS)
  expect(lease.remainingMs).toBeGreaterThan(8 * TTL_MS)
})

test('a lease with another TTL is not handed to the next caller', async () => {
  const { clock, lease, locks } = await held()
  const next = locks.mutex('a').acquire()
  await clock.until(lease.renew({ ttlMs: 2 * TTL_MS }))
  await clock.until(lease.release())
  const second = await clock.until(next)
  expect(second.claimId).not.toBe(lease.claimId)
  expect(second.remainingMs).toBeLessThan(TTL_MS)
})

test('a TTL that makes no sense is refused and changes nothing', async () => {
  const { lease, askedTtls } = await held()
  const before = lease.remainingMs
  for (const ttlMs of [NaN, Infinity, 0, 10, '5000' as never, null as never])
    await expect(lease.renew({ ttlMs })).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  await expect(lease.renew(5000 as never)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  expect(lease.remainingMs).toBe(before)
  expect(askedTtls()).toEqual([])
})

test('ensure renews only when less remains', async () => {
  const { clock, lease, askedTtls } = await held({ renew: false })
  await clock.until(lease.ensure(TTL_MS / 2))
  expect(askedTtls()).toEqual([])
  await clock.advance((TTL_MS * 2) / 3)
  await clock.until(lease.ensure(TTL_MS / 2))
  expect(askedTtls()).toEqual([TTL_MS])
  expect(lease.remainingMs).toBeGreaterThan(TTL_MS / 2)
})

test('ensure of more than the TTL or maxHoldMs allows is a usage error that says what to do', async () => {
  const { clock, lease } = await held()
  await expect(lease.ensure(TTL_MS)).rejects.toThrow(
    'ensure(3000) of "a" asks for more than a renewal gives: 2968 ms with ttlMs 3000. ' +
      'Ask for less, or choose a longer TTL with renew({ ttlMs }).',
  )
  await expect(lease.ensure('1' as never)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  await expect(lease.ensure(-1)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  await clock.until(lease.renew({ ttlMs: 2 * TTL_MS }))
  await clock.until(lease.ensure(TTL_MS))
  const short = await held({ maxHoldMs: 1000 })
  await expect(short.lease.ensure(2000)).rejects.toThrow(/maxHoldMs/)
  await short.clock.until(short.lease.ensure(500))
})

test('ensure rejects when the lease is lost, or the store does not answer', async () => {
  const { clock, wire, lease, direct } = await held({ renew: false })
  await clock.advance(TTL_MS / 2)
  wire.fate = () => 'fail'
  await expect(clock.until(lease.ensure(TTL_MS - 100))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
  expect(lease.held).toBe(true)
  wire.fate = () => 'deliver'
  await direct().steal('a', { now: true })
  await expect(clock.until(lease.ensure(TTL_MS - 100))).rejects.toMatchObject({ code: 'LOCK_LOST' })
  await expect(lease.ensure(1)).rejects.toMatchObject({ code: 'LOCK_LOST' })
})

test('ensure says that a longer TTL is in doubt while a renewal with a shorter one is unanswered', async () => {
  const { clock, wire, lease, askedTtls } = await held({ renew: false })
  wire.fate = () => 'fail'
  await outcomeOf(clock.until(lease.renew()))
  wire.fate = () => 'deliver'
  await clock.until(lease.renew({ ttlMs: 10 * TTL_MS }))
  const before = askedTtls().length
  await expect(clock.until(lease.ensure(2 * TTL_MS))).rejects.toThrow(
    'its longer TTL is not certain: a renewal to 3000 ms is unanswered and may still arrive.',
  )
  expect(askedTtls()).toHaveLength(before + 3)
  expect(lease.held).toBe(true)
  await clock.until(lease.ensure(TTL_MS - 100))
})

test('ensure gives up when each renewal comes too late', async () => {
  const { clock, wire, lease, askedTtls } = await held({ renew: false })
  await clock.advance(TTL_MS / 2)
  wire.latencyMs = 100
  await expect(clock.until(lease.ensure(TTL_MS - 50))).rejects.toThrow(/3 renewals in a row/)
  expect(askedTtls()).toHaveLength(3)
  expect(lease.held).toBe(true)
})
