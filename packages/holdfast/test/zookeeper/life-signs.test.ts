/** Which sign of life an agreed request proves, and what a session is worth after a pause. */
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../dist/clock/clock.js'
import type { Moment } from '../../dist/stores/coordination/connection/moment.js'
import type {
  CoordinationService,
  ServiceSession,
} from '../../dist/stores/coordination/connection/service.js'
import { Session, Sessions } from '../../dist/stores/coordination/session.js'
import { LifeSigns } from '../../dist/stores/zookeeper/connection/life-signs.js'

const TICK = 2000
const at = (monotonicMs: number): Moment => ({ monotonicMs, wallMs: 1e9 + monotonicMs })

describe('a request proves', () => {
  test('the greeting of its connection, before any sign is old enough', () => {
    const signs = new LifeSigns(at(0), TICK)
    signs.note(at(100), 110)
    expect(signs.ripe(1609)).toEqual(at(0))
  })

  test('a sign that was answered half a tick and half a second before it left', () => {
    const signs = new LifeSigns(at(0), TICK)
    signs.note(at(100), 110)
    expect(signs.ripe(1610)).toEqual(at(100))
  })

  test('no sign that lingered on its way, however long ago it was sent', () => {
    const signs = new LifeSigns(at(0), TICK)
    signs.note(at(100), 5000)
    expect(signs.ripe(6499)).toEqual(at(0))
    expect(signs.ripe(6500)).toEqual(at(100))
  })

  test('the newest of many, to a sixteenth of the time', () => {
    const signs = new LifeSigns(at(0), TICK)
    for (let ms = 1; ms <= 20_000; ms += 1) signs.note(at(ms), ms + 1)
    const { monotonicMs } = signs.ripe(20_000)
    expect(monotonicMs).toBeLessThanOrEqual(18_499)
    expect(monotonicMs).toBeGreaterThan(18_499 - 95)
  })
})

describe('a session', () => {
  let now: Moment
  const clock: Clock = {
    monotonicMs: () => now.monotonicMs,
    wallMs: () => now.wallMs,
    timer: () => ({ cancel: () => undefined }),
  }
  /** Answers each sign of life with what is proven; `oldest` has what was asked for. */
  function sessionThat(proves: (now: Moment, oldestMs: number) => Moment | undefined) {
    const oldest: number[] = []
    now = at(0)
    const handle: ServiceSession = {
      timeoutMs: 33_000,
      keepAlive: (moment, oldestMs) => {
        oldest.push(oldestMs)
        return Promise.resolve(proves(moment, oldestMs))
      },
      end: () => Promise.resolve(),
    }
    return { session: new Session(handle, TICK, clock, at(0), () => undefined), oldest }
  }

  test('lasts for its timeout from what is proven, and not from the request', async () => {
    const { session, oldest } = sessionThat(() => at(12_000))
    now = at(20_000)
    expect(await session.assure(30_000, 15_000)).toBe(25_000)
    expect(oldest).toHaveLength(1)
  })

  test('sends no sign while enough is left', async () => {
    const { session, oldest } = sessionThat(() => at(0))
    now = at(3000)
    expect(await session.assure(30_000)).toBe(30_000)
    expect(oldest).toEqual([])
  })

  test('asks for a sign that is worth the whole TTL of a renewal', async () => {
    const { session, oldest } = sessionThat((_, oldestMs) => at(oldestMs))
    now = at(20_000)
    expect(await session.keepAlive()).toBe(true)
    expect(oldest[0]).toBeGreaterThanOrEqual(17_000)
  })

  test('shares a sign among all that ask at once', async () => {
    const { session, oldest } = sessionThat((moment) => moment)
    now = at(20_000)
    const asked = [session.keepAlive(), session.assure(30_000), session.assure(20_000, 10_000)]
    expect(await Promise.all(asked)).toEqual([true, 30_000, 20_000])
    expect(oldest).toHaveLength(1)
  })

  test('that slept since the proven moment asks for a later one', async () => {
    const { session, oldest } = sessionThat((_, oldestMs) => at(oldestMs))
    now = { monotonicMs: 20_000, wallMs: 1e9 + 50_000 }
    expect(await session.keepAlive()).toBe(true)
    expect(oldest).toHaveLength(2)
    expect(oldest[1]).toBe(20_000)
  })

  test('that is gone is worth nothing', async () => {
    const { session } = sessionThat(() => undefined)
    now = at(20_000)
    expect(await session.assure(30_000)).toBe(0)
    expect(session.lost).toBe(true)
    expect(await session.keepAlive()).toBe(false)
  })

  test('is longer than its leases by a tick and a second', async () => {
    const asked: number[] = []
    const service = {
      graceMs: TICK,
      openSession: (timeoutMs: number) => {
        asked.push(timeoutMs)
        return Promise.resolve({ timeoutMs })
      },
    } as unknown as CoordinationService
    now = at(0)
    const sessions = new Sessions(service, clock, () => undefined)
    await sessions.ready(30_000)
    await sessions.ready(4500)
    expect(asked).toEqual([33_000, 8000])
  })
})
