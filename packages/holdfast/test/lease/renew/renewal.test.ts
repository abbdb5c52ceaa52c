/** Renewals of many leases: together, and yet not all at once. */
import type { Lease } from 'holdfast'
import type { Renewal } from 'holdfast/store'
import { expect, test } from 'vitest'
import { makeWorld } from '../../support/world.js'

const TTL_MS = 3000
const MANY = 1000

function acquireMany(locks: ReturnType<ReturnType<typeof makeWorld>['client']>): Promise<Lease[]> {
  return Promise.all(
    Array.from({ length: MANY }, (_, index) => locks.mutex(`many ${index}`).acquire()),
  )
}

test('a thousand leases of one moment are renewed in a few groups, each soon after the one before', async () => {
  const { clock, wire, client } = makeWorld()
  const leases = await clock.until(acquireMany(client({ ttlMs: TTL_MS })))
  await clock.advance(TTL_MS / 2)
  const renewals = wire.sent.filter(({ verb }) => verb === 'renew')
  const sizes = renewals.map(({ argument }) => (argument as Renewal[]).length)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(MANY)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(256)
  expect(sizes.length).toBeLessThanOrEqual(5)
  const [first, last] = [renewals[0], renewals.at(-1)]
  expect((last?.atMs ?? Infinity) - (first?.atMs ?? 0)).toBeLessThan(10)
  await clock.advance(10 * TTL_MS)
  expect(leases.every(({ held }) => held)).toBe(true)
})

test('a lease of another rhythm does not wait for a thousand', async () => {
  const { clock, wire, client } = makeWorld()
  const locks = client({ ttlMs: TTL_MS })
  await clock.until(acquireMany(locks))
  // Due at the same moment as the others.
  const one = await clock.until(locks.mutex('one', { ttlMs: TTL_MS - 6 }).acquire())
  await clock.advance(TTL_MS / 2)
  const renewals = wire.sent.filter(({ verb }) => verb === 'renew')
  const ofOne = renewals.findIndex(({ argument }) =>
    (argument as Renewal[]).some(({ lock }) => lock === 'one'),
  )
  expect(ofOne).toBeGreaterThanOrEqual(0)
  expect(ofOne).toBeLessThan(2)
  expect(one.held).toBe(true)
})

test('all are asked about at once when the clocks have parted, also in the first second', async () => {
  const { clock, wire, client } = makeWorld()
  const leases = await clock.until(acquireMany(client({ ttlMs: 30_000 })))
  clock.stepWall(3_600_000)
  await clock.advance(1100)
  const [first] = wire.sent.filter(({ verb }) => verb === 'renew')
  expect((first?.argument as Renewal[] | undefined)?.length).toBe(MANY)
  expect(leases.every(({ held }) => held)).toBe(true)
})

test.each(['mutex', 'semaphore'] as const)(
  'a %s that is not renewed lasts for its TTL, also when it was waited for',
  async (kind) => {
    const { clock, wire, client, direct } = makeWorld()
    const lockOf = (locks: ReturnType<typeof client>) =>
      kind === 'mutex'
        ? locks.mutex('a', { renew: false, ttlMs: 60_000 })
        : locks.semaphore('a', { permits: 1, renew: false, ttlMs: 60_000 })
    const before = await clock.until(lockOf(direct()).acquire())
    const waiting = lockOf(client()).acquire()
    await clock.advance(10)
    // The first answer is lost: the lease must not end with what the store lets it have until it is
    // asked.
    let renewals = 0
    wire.fate = (verb) => (verb === 'renew' && (renewals += 1) === 1 ? 'fail' : 'deliver')
    await before.release()
    const lease = await clock.until(waiting)
    await clock.advance(2000)
    expect(lease.remainingMs).toBeGreaterThan(50_000)
    await clock.advance(55_000)
    expect(lease.held).toBe(true)
    await clock.advance(5000)
    expect(lease.held).toBe(false)
    expect(renewals).toBe(2)
  },
)
