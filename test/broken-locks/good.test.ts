/**
 * The good lock keeps its promises, one by one and under mixed faults: what a control breaks must
 * not be its fault.
 */
import { CONTROLS, goodLock, ReplyError, InDoubtError } from '@holdfast/broken-locks'
import { describe, expect, test } from 'vitest'
import { contend } from './support/contention.js'
import { granted } from './support/scenario.js'
import { World } from './support/world.js'

const SEEDS = 100

function world(ttlMs = 1000): World {
  return new World(goodLock, ttlMs)
}

describe('the good lock', () => {
  test(`is clean under mixed faults, in ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { grants, healed, violations } = await contend(goodLock, seed)
      expect({ seed, healed, violations }).toEqual({ seed, healed: 4, violations: [] })
      expect(grants).toBeGreaterThan(10)
    }
  })

  test('runs the same again from the same seed', async () => {
    expect(await contend(goodLock, 7)).toEqual(await contend(goodLock, 7))
  })

  test.each([
    'no-watchdog-no-deadline',
    'wall-clock-deadline',
    'deadline-from-reply',
    'client-clock-fence',
  ])('differs from %s under the same faults', async (id) => {
    const create = CONTROLS.find((control) => control.id === id)?.create ?? goodLock
    let caught = 0
    for (let seed = 1; seed <= 15; seed += 1)
      caught += (await contend(create, seed)).violations.length
    expect(caught).toBeGreaterThan(0)
  })

  test('is kept by its watchdog for as long as the work takes', async () => {
    const { clock, client } = world()
    const lease = granted(await client().tryFor(100))
    await clock.advance(60_000)
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe('released')
  })

  test('announces its loss by the deadline when it is cut off', async () => {
    const { clock, client } = world()
    const one = client()
    const lease = granted(await one.tryFor(100))
    let toldMs = Infinity
    lease.onLost(() => (toldMs = clock.monotonicMs()))
    one.cutOff()
    await clock.advance(5000)
    expect(toldMs).toBeLessThanOrEqual(1000 - 12)
    expect(await lease.release()).toBe('lost')
  })

  test('is not held after a pause, before any timer has run', async () => {
    const { clock, client } = world()
    const lease = granted(await client().tryFor(100))
    clock.freeze(1500)
    expect(lease.held).toBe(false)
  })

  test('costs at most its TTL when its holder dies', async () => {
    const { clock, client } = world()
    const [one, two] = [client(), client()]
    granted(await one.tryFor(100))
    const waiting = two.start()
    one.kill()
    await clock.advance(1002)
    expect(waiting.lease?.held).toBe(true)
  })

  test('says "released" when the first answer got lost', async () => {
    const { clock, client } = world()
    const one = client()
    const lease = granted(await one.tryFor(100))
    one.faults = (name, before) => (name === 'free' && before === 0 ? { drop: 'reply' } : undefined)
    const released = lease.release()
    await clock.advance(500)
    expect(await released).toBe('released')
    expect(await lease.release()).toBe('released')
  })

  test('does not say anything about a release that stays in doubt', async () => {
    const { clock, client } = world()
    const one = client()
    const lease = granted(await one.tryFor(100))
    one.cutOff()
    const released = expect(lease.release()).rejects.toThrow(InDoubtError)
    await clock.advance(5000)
    await released
  })

  test('passes on what Redis refuses, and the reason of an abort', async () => {
    const { server, client } = world()
    const stop = new AbortController()
    granted(await client().tryFor(100))
    const waiting = client().lock.acquire(stop.signal)
    stop.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    server.command(['DEL', 'lock'])
    server.command(['HSET', 'lock', 'field', 1])
    await expect(client().lock.acquire()).rejects.toThrow(ReplyError)
  })

  test('gives growing tokens across a restart without data', async () => {
    const { server, clock, client } = world()
    const [one, two] = [client(), client()]
    const first = granted(await one.tryFor(100))
    await clock.advance(10)
    server.redis.restart({ withData: false })
    const second = granted(await two.tryFor(200))
    expect(second.token).toBeGreaterThan(first.token ?? 0n)
  })
})
