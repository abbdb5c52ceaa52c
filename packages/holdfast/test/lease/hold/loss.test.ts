/**
 * Promises 1 and 2: a lease ends at its deadline, and its signal aborts by then, even if the
 * network is down.
 */
import { LockLostError, onLockEvent, type Clock } from 'holdfast'
import { describe, expect, test } from 'vitest'
import type { WakeListener } from 'holdfast/store'
import { deferred, makeWorld, outcomeOf } from '../../support/world.js'

const TTL_MS = 1000
/** 1% of the TTL and 2 ms. */
const MARGIN_MS = 12

describe('the deadline', () => {
  test('counts from before the request was sent, not from the reply', async () => {
    const { clock, wire, client } = makeWorld()
    wire.latencyMs = 100
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    expect(lease.remainingMs).toBe(TTL_MS - MARGIN_MS - 200)
  })

  test('is right although no timer has run', async () => {
    const { clock, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    clock.freeze(TTL_MS)
    expect(lease.held).toBe(false)
    expect(lease.remainingMs).toBe(0)
    expect(() => lease.assertHeld()).toThrow(LockLostError)
  })

  test.each([
    [60, true],
    [1000, false],
  ])('of a TTL of %i ms: whether the loss names the unit is %s', async (ttlMs, isNamed) => {
    const { clock, client } = makeWorld()
    const fixed = { ttlMs, renew: false }
    const lease = await clock.until(client(fixed).mutex('a').acquire())
    clock.freeze(ttlMs)
    const blocked = (await outcomeOf((async () => lease.assertHeld())())) as { error: Error }
    const running = client(fixed)
      .mutex('b')
      .run((held) => new Promise((resolve) => held.signal.addEventListener('abort', resolve)))
    const noticed = (await clock.until(outcomeOf(running))) as { error: Error }
    const stolen = new LockLostError('stolen', { lock: 'a', ttlMs })
    for (const { error } of [blocked, noticed]) {
      expect(error).toHaveProperty('code', 'LOCK_LOST')
      expect(error.message.includes(`It had ttlMs: ${ttlMs}, in milliseconds.`)).toBe(isNamed)
    }
    expect(stolen.message).not.toContain('milliseconds')
  })

  test('moves with each renewal, for as long as the lease is held', async () => {
    const { clock, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    await clock.advance(20 * TTL_MS)
    expect(lease.held).toBe(true)
    expect(lease.remainingMs).toBeGreaterThan(TTL_MS / 2)
  })

  test('stays where it is while renewals are unknown, and moves when one gets through', async () => {
    const { clock, wire, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    wire.fate = (verb) => (verb === 'renew' ? 'fail' : 'deliver')
    await clock.advance(TTL_MS * 0.7)
    expect(lease.held).toBe(true)
    expect(lease.remainingMs).toBeLessThan(TTL_MS * 0.35)
    wire.fate = () => 'deliver'
    await clock.advance(TTL_MS * 0.2)
    expect(lease.remainingMs).toBeGreaterThan(TTL_MS * 0.5)
  })

  test('a lease that ended on its way is never handed out', async () => {
    const { clock, wire, client } = makeWorld()
    wire.latencyMs = 600
    const acquired = outcomeOf(client({ ttlMs: TTL_MS }).mutex('a').acquire({ waitMs: 4000 }))
    await clock.advance(3000)
    wire.latencyMs = 1
    const outcome = await clock.until(acquired)
    expect(outcome).toHaveProperty('value')
    if ('value' in outcome) expect(outcome.value.remainingMs).toBeGreaterThan(900)
  })

  test('a fixed lease ends without renewal, and renew() moves it by hand', async () => {
    const { clock, wire, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS, renew: false }).mutex('a').acquire())
    await clock.advance(800)
    expect(wire.sent.some(({ verb }) => verb === 'renew')).toBe(false)
    await clock.until(lease.renew())
    await clock.advance(800)
    expect(lease.held).toBe(true)
    await clock.advance(200)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ reason: 'deadline' })
  })
})

describe('the loss signal', () => {
  test('aborts by the deadline although the renewal hangs', async () => {
    const { clock, wire, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    const { signal } = lease
    let toldMs = Infinity
    signal.addEventListener('abort', () => (toldMs = clock.monotonicMs()))
    wire.fate = (verb) => (verb === 'renew' ? 'hang' : 'deliver')
    const deadlineMs = clock.monotonicMs() + lease.remainingMs
    await clock.advance(2 * TTL_MS)
    expect(toldMs).toBeLessThanOrEqual(deadlineMs)
    expect(toldMs).toBeGreaterThan(deadlineMs - 10)
    expect(signal.reason).toBeInstanceOf(LockLostError)
  })

  test('aborts on the first turn of an event loop that was stopped', async () => {
    const { clock, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    const { signal } = lease
    clock.freeze(5 * TTL_MS)
    await clock.advance(0)
    expect(signal.aborted).toBe(true)
  })

  test('aborts at once when the store says that the lease is gone', async () => {
    const { clock, client, store } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    await store.steal('a', { now: true })
    await clock.advance(TTL_MS / 3 + 10)
    expect(lease.signal.aborted).toBe(true)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'stolen', lock: 'a' })
  })

  test('is born aborted when it is first asked for after the loss', async () => {
    const { clock, wire, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    wire.fate = () => 'hang'
    await clock.advance(2 * TTL_MS)
    expect(lease.signal.aborted).toBe(true)
  })

  test('announces maxHoldMs, and the lock is free when the holder lets go', async () => {
    const { clock, client, direct } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS, maxHoldMs: 1500 }).mutex('a').acquire())
    await clock.advance(1490)
    expect(lease.held).toBe(true)
    await clock.advance(10)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ reason: 'max-hold' })
    expect(await clock.until(lease.release())).toBe('lost')
    await clock.advance(10)
    expect(await direct({ ttlMs: TTL_MS }).mutex('a').tryAcquire()).toBeDefined()
  })
})

describe('clocks that part', () => {
  test('a step of the wall clock only costs a renewal', async () => {
    const { clock, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    clock.stepWall(3_600_000)
    expect(lease.held).toBe(false)
    await clock.advance(5)
    expect(lease.held).toBe(true)
    expect(lease.signal.aborted).toBe(false)
  })

  test('after a sleep the store decides: the lease is lost, and its signal aborts within a second', async () => {
    const { clock, client, store } = makeWorld()
    const lease = await clock.until(client({ ttlMs: 30_000 }).mutex('a').acquire())
    // The machine slept: the wall clock moved, the monotonic one did not, and the store let the
    // lease end.
    clock.stepWall(60_000)
    await store.steal('a', { now: true })
    expect(lease.held).toBe(false)
    await clock.advance(1100)
    expect(lease.signal.aborted).toBe(true)
  })

  test('a process that loses the processor between two readings of the clocks keeps its lease', async () => {
    const world = makeWorld()
    const { clock } = world
    let losses = 0
    const busy: Clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs() {
        if (losses > 0) clock.freeze(100)
        losses = Math.max(0, losses - 1)
        return clock.wallMs()
      },
      timer: (delayMs, fire) => clock.timer(delayMs, fire),
    }
    const mutex = world.client({ clock: busy, ttlMs: TTL_MS }).mutex('a')
    losses = 1
    const lease = await clock.until(mutex.acquire())
    expect(losses).toBe(0)
    // It happens again while the distance is measured.
    losses = 3
    expect(lease.held).toBe(true)
    expect(losses).toBe(0)
    expect(world.wire.sent.map(({ verb }) => verb)).toEqual(['attempt'])
  })

  test('a fixed lease keeps its end when only the clocks were in doubt', async () => {
    const { clock, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS, renew: false }).mutex('a').acquire())
    await clock.advance(500)
    clock.stepWall(60_000)
    expect(lease.held).toBe(false)
    await clock.advance(10)
    expect(lease.held).toBe(true)
    await clock.advance(500)
    expect(lease.held).toBe(false)
  })
})

describe('release', () => {
  test('answers lost when the lease had ended', async () => {
    const { clock, client } = makeWorld()
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    clock.freeze(2 * TTL_MS)
    expect(await clock.until(lease.release())).toBe('lost')
    expect(await clock.until(lease.release())).toBe('lost')
  })

  test('is retried until an answer comes, and says released although the first reply was dropped', async () => {
    const { clock, wire, client } = makeWorld()
    const locks = client({ ttlMs: 30_000, requestTimeoutMs: 100 })
    const lease = await clock.until(locks.mutex('a').acquire())
    let drops = 1
    wire.fate = (verb) => (verb === 'withdraw' && drops-- > 0 ? 'drop-reply' : 'deliver')
    expect(await clock.until(lease.release())).toBe('released')
  })

  test('throws a typed error when it stays unknown, and continues in the background', async () => {
    const { clock, wire, client, direct } = makeWorld()
    const locks = client({ ttlMs: 30_000, requestTimeoutMs: 100 })
    const lease = await clock.until(locks.mutex('a').acquire())
    wire.fate = (verb) => (verb === 'withdraw' ? 'hang' : 'deliver')
    const outcome = await clock.until(outcomeOf(lease.release()))
    expect(outcome).toMatchObject({ error: { code: 'RELEASE_UNKNOWN', lock: 'a' } })
    wire.fate = () => 'deliver'
    await clock.advance(500)
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })

  test('a lease released while its renewal is in flight never comes back', async () => {
    const { clock, wire, client, direct } = makeWorld()
    wire.latencyMs = 20
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    const renewed = outcomeOf(lease.renew())
    const released = lease.release()
    await clock.advance(100)
    expect(await released).toBe('released')
    expect(await renewed).toHaveProperty('error')
    expect(lease.held).toBe(false)
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })
})

describe('stealing', () => {
  test('refuses renewals, aborts the signal, and frees the lock when the holder lets go', async () => {
    const { clock, client, direct } = makeWorld()
    const lost = deferred<string>()
    const stop = onLockEvent('lost', ({ reason }) => lost.resolve(reason))
    const lease = await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    const other = direct({ ttlMs: TTL_MS })
    expect(await other.steal('a')).toMatchObject({ holders: 1 })
    await clock.advance(TTL_MS / 3 + 10)
    stop()
    expect(await lost.promise).toBe('stolen')
    expect(lease.signal.reason).toMatchObject({ reason: 'stolen' })
    expect(await other.mutex('a').tryAcquire()).toBeUndefined()
    expect(await clock.until(lease.release())).toBe('lost')
    await clock.advance(5)
    const next = await other.mutex('a').tryAcquire()
    expect(next?.token).toBeGreaterThan(lease.token)
  })

  test('frees the lock when the holder never lets go and its lease ends', async () => {
    const { clock, client, direct } = makeWorld()
    await clock.until(client({ ttlMs: TTL_MS }).mutex('a').acquire())
    const other = direct({ ttlMs: TTL_MS })
    await other.steal('a')
    const next = other.mutex('a').acquire()
    await clock.advance(TTL_MS + 5)
    expect((await next).held).toBe(true)
  })
})

/** A waiter that hears of a grant which the store has not given, and the holder. */
async function forgeGrant(renew: boolean) {
  const world = makeWorld()
  const { clock, store } = world
  const watch = store.watch.bind(store)
  const listeners: WakeListener[] = []
  store.watch = (claim, listener) => {
    listeners.push(listener)
    return watch(claim, listener)
  }
  const holder = await world.direct().mutex('a').acquire()
  const waiting = world.client({ renew }).mutex('a').acquire()
  await clock.advance(100)
  for (const wake of listeners) wake({ token: 1n, tokens: 1, ttlMs: 1e12 })
  return { clock, holder, waiting }
}

describe('a pushed grant that the store has not given', () => {
  test('lasts three heartbeats at most, and ends with its first renewal', async () => {
    const { clock, holder, waiting } = await forgeGrant(true)
    const lease = await clock.until(waiting)
    expect(lease.remainingMs).toBeLessThanOrEqual(3000)
    await clock.advance(1100)
    expect(lease.held).toBe(false)
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
    expect(holder.held).toBe(true)
  })

  test('is never handed out where it is not to be renewed', async () => {
    const { clock, holder, waiting } = await forgeGrant(false)
    let served = false
    void waiting.then(() => (served = true))
    await clock.advance(5000)
    expect([served, holder.held]).toEqual([false, true])
    await holder.release()
    expect((await clock.until(waiting)).held).toBe(true)
  })
})
