/** How `run` ends, and how a client closes. */
import { isLockError, LockLostError, onLockEvent } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { deferred, makeWorld, outcomeOf } from '../support/world.js'

const TTL_MS = 1000

describe('run', () => {
  test('gives the value of the callback and frees the lock', async () => {
    const { clock, client, direct } = makeWorld()
    expect(
      await clock.until(
        client()
          .mutex('a')
          .run((lease) => lease.held),
      ),
    ).toBe(true)
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })

  test('throws what the callback threw, and frees the lock', async () => {
    const { clock, client, direct } = makeWorld()
    const error = new Error('the card was declined')
    const outcome = await clock.until(
      outcomeOf(
        client()
          .mutex('a')
          .run(() => Promise.reject(error)),
      ),
    )
    expect(outcome).toEqual({ error })
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })

  test.each([
    ['the deadline', {}, 'deadline'],
    ['maxHoldMs', { maxHoldMs: 100 }, 'max-hold'],
  ] as const)(
    'rejects with a loss that no timer saw, since the callback blocked past %s',
    async (_, limits, reason) => {
      const { clock, direct } = makeWorld()
      const heard: string[] = []
      const stops = [
        onLockEvent('lost', (event) => heard.push(`lost: ${event.reason}`)),
        onLockEvent('released', ({ outcome }) => heard.push(`released: ${outcome}`)),
      ]
      let signal: AbortSignal | undefined
      const outcome = await outcomeOf(
        direct({ ttlMs: TTL_MS })
          .mutex('a', limits)
          .run((lease) => {
            signal = lease.signal
            clock.freeze(2 * TTL_MS)
          }),
      )
      await clock.advance(10)
      for (const stop of stops) stop()
      expect(outcome).toMatchObject({ error: { code: 'LOCK_LOST', reason } })
      expect(signal?.reason).toMatchObject({ code: 'LOCK_LOST', reason })
      expect(heard).toEqual([`lost: ${reason}`, 'released: lost'])
    },
  )

  test('publishes a loss that only the release found, and keeps the outcome of the callback', async () => {
    const { clock, direct, store } = makeWorld()
    let signal: AbortSignal | undefined
    const outcome = await outcomeOf(
      direct()
        .mutex('a')
        .run(async (lease) => {
          signal = lease.signal
          await store.steal('a', { now: true })
          return 'done'
        }),
    )
    await clock.advance(10)
    expect(outcome).toEqual({ value: 'done' })
    expect(signal?.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
  })

  test('rejects with the loss when the lease ended before the callback settled, with its error as the cause', async () => {
    const { clock, client, wire } = makeWorld()
    const cause = new Error('half done')
    const running = outcomeOf(
      client({ ttlMs: TTL_MS })
        .mutex('a')
        .run(async (lease) => {
          wire.fate = () => 'hang'
          await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
          throw cause
        }),
    )
    await clock.advance(2 * TTL_MS)
    const outcome = await clock.until(running)
    expect(outcome).toMatchObject({ error: { code: 'LOCK_LOST', cause } })
  })

  test('rejects with the loss also when the callback succeeded too late', async () => {
    const { clock, client } = makeWorld()
    const running = client({ ttlMs: TTL_MS, renew: false })
      .mutex('a')
      .run(() => {
        clock.freeze(2 * TTL_MS)
        return 'too late'
      })
    const outcome = await clock.until(outcomeOf(running))
    expect('error' in outcome && outcome.error).toBeInstanceOf(LockLostError)
  })

  test('keeps the outcome of the callback when the release fails, and publishes the error', async () => {
    const { clock, client, wire } = makeWorld()
    const errors: unknown[] = []
    const stop = onLockEvent('error', ({ during, error }) =>
      errors.push([during, isLockError(error) && error.code]),
    )
    const running = client({ requestTimeoutMs: 100 })
      .mutex('a')
      .run(() => {
        wire.fate = () => 'hang'
        return 'paid'
      })
    expect(await clock.until(running)).toBe('paid')
    stop()
    expect(errors).toEqual([['release', 'RELEASE_UNKNOWN']])
  })

  test('asks the store when only the clocks disagree at the end', async () => {
    const { clock, client } = makeWorld()
    const running = client({ ttlMs: TTL_MS })
      .mutex('a')
      .run(() => {
        clock.stepWall(3_600_000)
        return 'done'
      })
    expect(await clock.until(running)).toBe('done')
  })

  test('needs a function', async () => {
    const { client } = makeWorld()
    const outcome = await outcomeOf(
      client()
        .mutex('a')
        .run('work' as never),
    )
    expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
  })

  test('await using gives the lock back, and reports a failed release to the events only', async () => {
    const { clock, client, direct } = makeWorld()
    const work = async (): Promise<bigint> => {
      await using lease = await client().mutex('a').acquire()
      return lease.token
    }
    await clock.until(work())
    await clock.advance(5)
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  })
})

describe('close', () => {
  test('rejects those that wait, and refuses what comes later', async () => {
    const { clock, client, direct } = makeWorld()
    await direct().mutex('a').acquire()
    const locks = client()
    const waiting = outcomeOf(locks.mutex('a').acquire())
    await clock.advance(10)
    await clock.until(locks.close())
    expect(await waiting).toHaveProperty('error.code', 'LOCKS_CLOSED')
    expect(await outcomeOf(locks.mutex('a').acquire())).toHaveProperty('error.code', 'LOCKS_CLOSED')
    expect(await outcomeOf(locks.mutex('a').tryAcquire())).toHaveProperty(
      'error.code',
      'LOCKS_CLOSED',
    )
  })

  test('releases what is held', async () => {
    const { clock, client, direct } = makeWorld()
    const locks = client()
    const lease = await clock.until(locks.mutex('a').acquire())
    const other = direct()
    await clock.until(locks.close())
    expect(lease.held).toBe(false)
    expect(await other.mutex('a').tryAcquire()).toBeDefined()
  })

  test('aborts signals, waits for running callbacks, then releases', async () => {
    const { clock, client, direct } = makeWorld()
    const locks = client()
    const other = direct()
    let heldAtTheEnd = false
    const running = locks.mutex('a').run(async (lease) => {
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      await new Promise((resolve) => void clock.timer(300, () => resolve(undefined)))
      heldAtTheEnd = lease.held
      return 'finished'
    })
    await clock.advance(10)
    const closing = locks.close()
    await clock.advance(100)
    expect(await other.mutex('a').tryAcquire()).toBeUndefined()
    await clock.until(closing)
    expect(heldAtTheEnd).toBe(true)
    expect(await clock.until(running)).toBe('finished')
    expect(await other.mutex('a').tryAcquire()).toBeDefined()
  })

  test('releases nothing under code that does not stop in time: the lease is left to expire', async () => {
    const { clock, client, direct } = makeWorld()
    const locks = client({ ttlMs: TTL_MS })
    const other = direct({ ttlMs: TTL_MS })
    const gate = deferred()
    const running = outcomeOf(locks.mutex('a').run(() => gate.promise))
    await clock.advance(10)
    await clock.until(locks.close({ graceMs: 50 }))
    expect(await other.mutex('a').tryAcquire()).toBeUndefined()
    await clock.advance(TTL_MS + 10)
    expect(await other.mutex('a').tryAcquire()).toBeDefined()
    gate.resolve()
    expect(await clock.until(running)).toHaveProperty('error.code', 'LOCK_LOST')
  })

  test('may be called twice', async () => {
    const { clock, client } = makeWorld()
    const locks = client()
    await clock.until(Promise.all([locks.close(), locks.close()]))
  })
})
