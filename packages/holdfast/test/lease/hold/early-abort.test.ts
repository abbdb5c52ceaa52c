/** `abortBeforeMs`: the signal aborts while the lease is still held. */
import { LeaseAtRiskError, LockLostError, type Lease, type LockOptions } from 'holdfast'
import { expect, test } from 'vitest'
import { makeWorld } from '../../support/world.js'

const TTL_MS = 3000
const BEFORE_MS = 900

async function held(options: LockOptions = {}) {
  const world = makeWorld()
  const locks = world.client({ ttlMs: TTL_MS, abortBeforeMs: BEFORE_MS, ...options })
  const lease = await world.clock.until(locks.mutex('a').acquire())
  return { ...world, locks, lease, abortedAt: watchAbort(lease, world.clock) }
}

/** Returns how much of the lease was left when its signal aborted. */
function watchAbort(lease: Lease, clock: { monotonicMs(): number }) {
  const found: { remainingMs?: number; atMs?: number; held?: boolean } = {}
  lease.signal.addEventListener('abort', () => {
    Object.assign(found, {
      remainingMs: lease.remainingMs,
      atMs: clock.monotonicMs(),
      held: lease.held,
    })
  })
  return found
}

test('the signal aborts that long before the deadline, and the lease continues', async () => {
  const { clock, wire, lease, abortedAt } = await held()
  wire.fate = () => 'fail'
  await clock.advance(TTL_MS - BEFORE_MS - 100)
  expect(lease.signal.aborted).toBe(false)
  await clock.advance(100)
  expect(lease.signal.reason).toBeInstanceOf(LeaseAtRiskError)
  expect(lease.signal.reason).toMatchObject({ code: 'LEASE_AT_RISK', lock: 'a' })
  expect(abortedAt.held).toBe(true)
  expect(abortedAt.remainingMs).toBeGreaterThanOrEqual(BEFORE_MS)
  expect(abortedAt.remainingMs).toBeLessThan(BEFORE_MS + 20)
  wire.fate = () => 'deliver'
  await clock.advance(5 * TTL_MS)
  expect(lease.held).toBe(true)
  lease.assertHeld()
  expect(await clock.until(lease.release())).toBe('released')
})

test('renewals that get through keep the signal quiet', async () => {
  const { clock, lease } = await held()
  await clock.advance(20 * TTL_MS)
  expect(lease.signal.aborted).toBe(false)
})

test('a signal that is first read near the end has aborted already', async () => {
  const world = makeWorld()
  const locks = world.client({ ttlMs: TTL_MS, abortBeforeMs: BEFORE_MS, renew: false })
  const lease = await world.clock.until(locks.mutex('a').acquire())
  await world.clock.advance(TTL_MS - BEFORE_MS / 2)
  expect(lease.signal.aborted).toBe(true)
  expect(lease.held).toBe(true)
})

test('after the early abort the loss is seen by held and run, not by the signal', async () => {
  const { clock, wire, lease } = await held()
  wire.fate = () => 'hang'
  await clock.advance(2 * TTL_MS)
  expect(lease.held).toBe(false)
  expect(lease.signal.reason).toBeInstanceOf(LeaseAtRiskError)
  expect(() => lease.assertHeld()).toThrow(LockLostError)
})

test('a released lease does not abort its signal', async () => {
  const { clock, lease } = await held({ renew: false })
  await clock.until(lease.release())
  await clock.advance(2 * TTL_MS)
  expect(lease.signal.aborted).toBe(false)
})

test('the end by maxHoldMs is announced early too', async () => {
  const { clock, lease, abortedAt } = await held({ maxHoldMs: 2 * TTL_MS })
  await clock.advance(2 * TTL_MS)
  expect(abortedAt.held).toBe(true)
  expect(abortedAt.remainingMs).toBeGreaterThanOrEqual(BEFORE_MS)
  expect(lease.held).toBe(false)
})

test('a shorter TTL aborts the signal a third of that before the new deadline', async () => {
  const { clock, wire, lease, abortedAt } = await held()
  await clock.until(lease.renew({ ttlMs: 600 }))
  expect(lease.signal.aborted).toBe(false)
  wire.fate = () => 'fail'
  await clock.advance(600)
  expect(abortedAt.remainingMs).toBeGreaterThanOrEqual(200)
  expect(abortedAt.remainingMs).toBeLessThan(220)
})

test('run returns what its callback returns or throws while the lease is held', async () => {
  const { clock, wire, locks } = await held()
  wire.fate = (verb) => (verb === 'renew' ? 'fail' : 'deliver')
  const stopped = locks.mutex('b').run(
    (lease) =>
      new Promise((_resolve, reject) => {
        lease.signal.addEventListener('abort', () => reject(lease.signal.reason as Error))
      }),
  )
  await expect(clock.until(stopped)).rejects.toBeInstanceOf(LeaseAtRiskError)
  expect(await clock.until(locks.mutex('b').tryAcquire())).toBeDefined()
  const finished = locks.mutex('c').run(
    (lease) =>
      new Promise((resolve) => {
        lease.signal.addEventListener('abort', () => resolve('undone'))
      }),
  )
  expect(await clock.until(finished)).toBe('undone')
})

test('run rejects with the loss when its callback continues until the lease has ended', async () => {
  const { clock, wire, locks } = await held()
  wire.fate = (verb) => (verb === 'renew' ? 'hang' : 'deliver')
  const late = locks.mutex('b').run(
    (lease) =>
      new Promise((_resolve, reject) => {
        const { signal } = lease
        signal.addEventListener('abort', () => {
          clock.timer(TTL_MS, () => reject(signal.reason as Error))
        })
      }),
  )
  const error: unknown = await clock.until(late).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(LockLostError)
  expect((error as Error).cause).toBeInstanceOf(LeaseAtRiskError)
})

test('a pushed grant is renewed before its lease is handed out', async () => {
  const ttlMs = 30_000
  const { clock, client, wire } = makeWorld()
  const first = await clock.until(client({ ttlMs }).mutex('a').acquire())
  const waits = client({ ttlMs, abortBeforeMs: ttlMs / 3 })
    .mutex('a')
    .acquire()
  await clock.advance(100)
  wire.sent.length = 0
  void first.release()
  const lease = await clock.until(waits)
  expect(wire.sent.map(({ verb }) => verb)).toContain('renew')
  expect(lease.signal.aborted).toBe(false)
  expect(lease.remainingMs).toBeGreaterThan(ttlMs * 0.9)
})

test('a grant that was lost before its renewal is asked for again', async () => {
  const ttlMs = 30_000
  const { clock, client, direct, wire } = makeWorld()
  const first = await clock.until(client({ ttlMs }).mutex('a').acquire())
  const waits = client({ ttlMs, abortBeforeMs: ttlMs / 3 })
    .mutex('a')
    .acquire()
  await clock.advance(100)
  let stolen: Promise<unknown> | undefined
  wire.fate = (verb) => {
    if (verb === 'renew') stolen ??= direct().steal('a', { now: true })
    return 'deliver'
  }
  await clock.until(first.release())
  const lease = await clock.until(waits)
  expect(stolen).toBeDefined()
  expect(lease.held).toBe(true)
  await clock.until(lease.renew())
})

test('tryAcquire and adopted leases abort early too, and a call may choose', async () => {
  const world = makeWorld()
  const locks = world.client({ ttlMs: TTL_MS, renew: false })
  const lock = locks.mutex('a', { abortBeforeMs: BEFORE_MS })
  const lease = await world.clock.until(lock.tryAcquire())
  const own = await world.clock.until(locks.mutex('b').acquire({ abortBeforeMs: BEFORE_MS }))
  const none = await world.clock.until(lock.tryAcquire())
  expect(none).toBeUndefined()
  const signals = [lease?.signal, own.signal]
  await world.clock.advance(TTL_MS - BEFORE_MS + 20)
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
  expect(own.held).toBe(true)
})

test('an abortBeforeMs that makes no sense is a usage error that says what to do', async () => {
  const locks = makeWorld().direct({ ttlMs: TTL_MS })
  for (const abortBeforeMs of [-1, NaN, Infinity, '900' as never]) {
    expect(() => locks.mutex('a', { abortBeforeMs })).toThrow(/abortBeforeMs/)
  }
  expect(() => locks.mutex('a', { abortBeforeMs: 1001 })).toThrow(
    'abortBeforeMs must be at most a third of ttlMs (1000 ms), not 1001. Raise ttlMs, or lower it.',
  )
  expect(() => locks.mutex('a', { abortBeforeMs: 500, maxHoldMs: 400 })).toThrow(/maxHoldMs/)
  await expect(locks.mutex('a').acquire({ abortBeforeMs: 1001 })).rejects.toThrow(
    /a third of ttlMs/,
  )
  expect(() => makeWorld().direct({ ttlMs: 300, abortBeforeMs: 200 })).toThrow(/a third of ttlMs/)
})

test('a leader hears of the risk while it still leads, and can resign', async () => {
  const { clock, client, wire } = makeWorld()
  const election = client({ ttlMs: TTL_MS, abortBeforeMs: BEFORE_MS }).election('e')
  const losses: unknown[] = []
  election.on('lost', (error) => void losses.push(error))
  await clock.until(election.campaign())
  wire.fate = (verb) => (verb === 'renew' ? 'fail' : 'deliver')
  await clock.advance(TTL_MS - BEFORE_MS)
  expect(losses).toHaveLength(1)
  expect(losses[0]).toBeInstanceOf(LeaseAtRiskError)
  expect(election.isLeader).toBe(true)
  expect(await clock.until(election.resign())).toBe(true)
  expect(losses).toHaveLength(1)
})
