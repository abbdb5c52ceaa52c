/** Renewals beside a blocked event loop, in virtual time. */
import { createLocks, LockLostError, onLockEvent, type Lease } from 'holdfast'
import { expect, test } from 'vitest'
import { after } from '../../../../../../test/support/after.js'
import { CAP_MS, makeHelperWorld, TTL_MS, type HelperWorld } from './support.js'

/** Whether another client of the store could have the lock now. */
async function isFree({ store, clock }: HelperWorld): Promise<boolean> {
  const [info] = await store.inspect(['a'])
  await clock.advance(0)
  return info === undefined || info.holders.length === 0
}

async function heldWorld(options: object = {}): Promise<{ world: HelperWorld; lease: Lease }> {
  const world = makeHelperWorld()
  const lease = await world.acquire(options)
  return { world, lease }
}

test('a turning event loop needs no renewal of the helper', async () => {
  const { world, lease } = await heldWorld()
  await world.clock.advance(10 * TTL_MS)
  expect(world.lateMs).toEqual([])
  expect(lease.held).toBe(true)
})

test('a blocked event loop keeps its lease from the grant on, and sees that at once', async () => {
  const { world, lease } = await heldWorld()
  await world.block(2 * TTL_MS)
  expect(await isFree(world)).toBe(false)
  expect(lease.held).toBe(true)
  expect(lease.remainingMs).toBeGreaterThan(TTL_MS / 2)
  world.free()
  const renewals = world.lateMs.length
  await world.clock.advance(5 * TTL_MS)
  expect(lease.held).toBe(true)
  expect(world.lateMs.length).toBe(renewals)
})

test.each(['held', 'assertHeld', 'renew', 'release', 'remainingMs', 'ensure', 'busy'] as const)(
  'the first call after a block is %s, and finds the lease held',
  async (call) => {
    const { world, lease } = await heldWorld({ abortBeforeMs: TTL_MS / 4 })
    const { signal } = lease
    await world.block(2 * TTL_MS)
    if (call === 'assertHeld') lease.assertHeld()
    if (call === 'renew') await world.clock.until(lease.renew())
    if (call === 'ensure') await world.clock.until(lease.ensure(TTL_MS / 2))
    if (call === 'remainingMs') expect(lease.remainingMs).toBeGreaterThan(0)
    if (call === 'busy') expect(await world.tryAcquire()).toBeUndefined()
    if (call === 'release') expect(await world.clock.until(lease.release())).toBe('released')
    else expect(lease.held).toBe(true)
    expect(signal.aborted).toBe(false)
  },
)

test('a block aborts no signal that aborts before the end', async () => {
  const { world, lease } = await heldWorld({ abortBeforeMs: TTL_MS / 4 })
  const { signal } = lease
  await world.block(2 * TTL_MS)
  world.free()
  await world.clock.advance(2 * TTL_MS)
  expect(signal.aborted).toBe(false)
  await world.block(2 * CAP_MS)
  world.free()
  await world.clock.advance(1)
  expect(signal.aborted).toBe(true)
})

test('the first renewal leaves after a third of the TTL without a beat', async () => {
  const { world } = await heldWorld()
  await world.clock.advance(2 * TTL_MS)
  const blockedMs = world.clock.monotonicMs()
  await world.block(TTL_MS)
  const [firstMs = 0] = world.lateMs
  expect(firstMs - blockedMs).toBeGreaterThan(TTL_MS / 4)
  expect(firstMs - blockedMs).toBeLessThan(TTL_MS / 2)
})

test('beyond the cap the lease is over: `held` is false at the first look, and the lock is free', async () => {
  const { world, lease } = await heldWorld()
  await world.block(CAP_MS)
  expect(lease.held).toBe(false)
  expect(await isFree(world)).toBe(false)
  await world.clock.advance(TTL_MS / 2)
  expect(await isFree(world)).toBe(true)
  expect(world.lateMs.at(-1)).toBeLessThan(CAP_MS)
  world.free()
  await world.clock.advance(10)
  expect(lease.held).toBe(false)
  expect(lease.signal.reason).toMatchObject({ reason: 'deadline' })
})

test('looks at `held` inside of the block do not count as beats', async () => {
  const { world, lease } = await heldWorld()
  for (let blockedMs = 0; blockedMs < CAP_MS - 100; blockedMs += 100) {
    expect(lease.held).toBe(true)
    await world.block(100)
  }
  await world.block(200)
  expect(lease.held).toBe(false)
})

test('an event loop that wakes just before the cap renews by itself beyond it', async () => {
  const { world, lease } = await heldWorld()
  await world.block(CAP_MS - 100)
  expect(lease.held).toBe(true)
  world.free()
  await world.clock.advance(TTL_MS)
  expect(lease.held).toBe(true)
})

test('maxHoldMs ends the lease of a blocked event loop', async () => {
  const { world, lease } = await heldWorld({ maxHoldMs: 2 * TTL_MS })
  await world.block(3 * TTL_MS)
  expect(world.lateMs.length).toBeGreaterThan(0)
  expect(world.lateMs.at(-1)).toBeLessThan(2 * TTL_MS)
  expect(lease.held).toBe(false)
  expect(await isFree(world)).toBe(true)
})

test('the helper renews no lease whose deadline has passed', async () => {
  const { world, lease } = await heldWorld()
  world.fate = 'fail'
  await world.block(2 * TTL_MS)
  expect(world.lateMs.length).toBeGreaterThan(2)
  expect(world.lateMs.at(-1)).toBeLessThan(TTL_MS)
  world.fate = 'deliver'
  const tries = world.lateMs.length
  await world.clock.advance(TTL_MS)
  expect(world.lateMs.length).toBe(tries)
  expect(lease.held).toBe(false)
})

test('a renewal that fails is repeated until the store answers', async () => {
  const { world, lease } = await heldWorld()
  world.fate = 'fail'
  await world.block(TTL_MS / 2)
  world.fate = 'deliver'
  await world.clock.advance(2 * TTL_MS)
  expect(lease.held).toBe(true)
})

test('a release during a late renewal stays a release', async () => {
  const { world, lease } = await heldWorld()
  await world.clock.advance(TTL_MS)
  world.latencyMs = 200
  await world.block(TTL_MS / 2)
  expect(world.lateMs.length).toBeGreaterThan(0)
  const released = lease.release()
  world.free()
  expect(await world.clock.until(released)).toBe('released')
  await world.clock.advance(TTL_MS)
  expect(await isFree(world)).toBe(true)
  // The slot serves another lease, which the late answers do not touch.
  const next = await world.acquire()
  await world.block(2 * TTL_MS)
  expect(next.held).toBe(true)
})

test('a released lease is not renewed any more', async () => {
  const { world, lease } = await heldWorld()
  await world.clock.until(lease.release())
  await world.block(5 * TTL_MS)
  expect(world.lateMs).toEqual([])
})

test('a lease stolen during the block is lost at the first look, with the reason', async () => {
  const { world, lease } = await heldWorld()
  await world.block(TTL_MS / 2)
  await world.store.steal('a', { now: false, reason: 'stuck' })
  await world.clock.advance(TTL_MS)
  expect(lease.held).toBe(false)
  expect(lease.signal.reason).toMatchObject({ reason: 'stolen', stealReason: 'stuck' })
  const sent = world.lateMs.length
  await world.clock.advance(TTL_MS)
  expect(world.lateMs.length).toBe(sent)
})

test('a lease that the store has dropped is lost at the first look, and released as lost', async () => {
  const { world, lease } = await heldWorld()
  await world.store.withdraw({ lock: 'a', id: lease.claimId, ttlMs: TTL_MS })
  await world.block(TTL_MS / 2)
  expect(await world.clock.until(lease.release())).toBe('lost')
  expect(() => lease.assertHeld()).toThrow(LockLostError)
})

test('a TTL that the holder changes counts in the helper too', async () => {
  const { world, lease } = await heldWorld()
  await world.clock.until(lease.renew({ ttlMs: 3 * TTL_MS }))
  await world.block(CAP_MS - 500)
  // A third of the longer TTL passes until the first renewal.
  expect(world.lateMs[0]).toBeGreaterThan(TTL_MS)
  expect(world.lateMs.length).toBeLessThan(5)
  expect(lease.held).toBe(true)
})

test('the next holder of a hand-off is renewed to its own maxHoldMs', async () => {
  const world = makeHelperWorld()
  const first = await world.acquire({ maxHoldMs: TTL_MS })
  const waiting = world.acquire()
  await world.clock.advance(1)
  await world.clock.until(first.release())
  const second = await waiting
  await world.block(3 * TTL_MS)
  expect(second.held).toBe(true)
})

test('leases that are not renewed are not the matter of the helper', async () => {
  const { world, lease } = await heldWorld({ renew: false })
  await world.block(2 * TTL_MS)
  expect(world.lateMs).toEqual([])
  expect(lease.held).toBe(false)
})

test('memory of leases that have ended serves the next ones', async () => {
  const world = makeHelperWorld()
  for (let turn = 0; turn < 2000; turn += 1) {
    const lease = await world.acquire()
    await world.clock.until(lease.release())
    if (turn % 100 === 0) await world.clock.advance(TTL_MS / 6)
  }
  expect(world.helper.pages).toBeLessThan(4)
})

test('the loss of the helper is an event, and the lease continues', async () => {
  const { world, lease } = await heldWorld()
  const events: unknown[] = []
  after(onLockEvent('helper-lost', (event) => events.push(event)))
  world.helper.lost(new Error('out of memory'))
  world.helper.lost(new Error('ended'))
  const { clientId } = world.client.runtime.owner
  expect(events).toMatchObject([{ clientId, error: { message: 'out of memory' } }])
  await world.clock.advance(5 * TTL_MS)
  expect(lease.held).toBe(true)
  await world.block(2 * TTL_MS)
  expect(lease.held).toBe(false)
})

test('an own client of the store excludes the blocked one', async () => {
  const { world, lease } = await heldWorld()
  const others = createLocks(world.store)
  await world.block(2 * TTL_MS)
  expect(await world.clock.until(others.mutex('a').tryAcquire())).toBeUndefined()
  expect(lease.held).toBe(true)
})
