/** `locks.current` and `locks.assertHeld`: the lease of the async context, for code deep inside. */
import { expect, test } from 'vitest'
import { makeWorld } from '../support/world.js'

test('inside of run, also after an await, current returns the lease of the run', async () => {
  const { clock, client } = makeWorld()
  const locks = client()
  const seen = await clock.until(
    locks.mutex('a').run(async (lease) => {
      const before = locks.current('a')
      await Promise.resolve()
      return [before === lease, locks.current('a') === lease, locks.assertHeld('a') === lease]
    }),
  )
  expect(seen).toEqual([true, true, true])
})

test('outside of run, and for another lock or client, there is no current lease', async () => {
  const { clock, client } = makeWorld()
  const [locks, other] = [client({ namespace: 'shop' }), client({ namespace: 'shop' })]
  const lease = await clock.until(locks.mutex('a').acquire())
  expect(locks.current('a')).toBeUndefined()
  await lease.run(() => {
    expect(locks.current('a')).toBe(lease)
    expect(locks.current('b')).toBeUndefined()
    expect(other.current('a')).toBeUndefined()
    expect(locks.detached(() => locks.current('a'))).toBeUndefined()
  })
  expect(() => locks.assertHeld('a')).toThrow(
    expect.objectContaining({
      code: 'LOCK_USAGE',
      lock: 'shop:a',
      message: expect.stringContaining('Call it inside of run') as string,
    }) as Error,
  )
})

test('the innermost of nested leases on one lock is the current one', async () => {
  const { clock, client } = makeWorld()
  const locks = client()
  const { read } = locks.readWriteLock('a')
  const isSame = await clock.until(
    read.run((outer) => read.run((inner) => inner === outer && locks.current('a') === inner)),
  )
  expect(isSame).toBe(true)
})

test('after a loss assertHeld throws LOCK_LOST, and after a release LOCK_USAGE', async () => {
  const { clock, client, wire } = makeWorld()
  const locks = client({ ttlMs: 1000 })
  const lease = await clock.until(locks.mutex('a').acquire())
  await lease.run(async () => {
    wire.fate = () => 'hang'
    await clock.advance(2000)
    expect(locks.current('a')).toBe(lease)
    expect(() => locks.assertHeld('a')).toThrow(
      expect.objectContaining({ code: 'LOCK_LOST' }) as Error,
    )
  })
  wire.fate = () => 'deliver'
  const next = await clock.until(locks.mutex('b').acquire())
  await next.run(async () => {
    await clock.until(next.release())
    expect(() => locks.assertHeld('b')).toThrow(
      expect.objectContaining({ code: 'LOCK_USAGE' }) as Error,
    )
  })
})

test('a name that makes no sense is refused', () => {
  const locks = makeWorld().client()
  expect(() => locks.current('')).toThrow(expect.objectContaining({ code: 'LOCK_USAGE' }) as Error)
})
