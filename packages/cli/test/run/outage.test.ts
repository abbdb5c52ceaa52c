/** A store that cannot be reached: how long a run tries again, and what it does not wait for. */
import { StoreUnavailableError, type Lease, type Locks } from 'holdfast'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { channel } from 'node:diagnostics_channel'
import { acquire } from '../../dist/run/acquire.js'
import { runSettings } from '../../dist/run/settings.js'
import { StoreContact } from '../../dist/run/store-contact.js'
import { Box } from '../support/holdfast.js'

const AWAY = new StoreUnavailableError('connect ECONNREFUSED', { store: 'redis' })
const DENIED = new StoreUnavailableError('wrong password', { store: 'redis', code: 'STORE_AUTH' })
const LEASE = { name: 'job' } as Lease

/** Locks whose attempts end as a list says, one after the other; then all are granted. */
function locksThat(outcomes: readonly Error[]): { locks: Locks; attempts: () => number } {
  let attempts = 0
  const attempt = async (): Promise<Lease> => {
    const outcome = outcomes[attempts++]
    if (outcome !== undefined) throw outcome
    return LEASE
  }
  return { locks: { mutex: () => ({ acquire: attempt }) } as unknown as Locks, attempts: () => attempts }
}

function contactOf(limitMs: number, giveUp: (failure: unknown) => void = () => {}): StoreContact {
  return new StoreContact({ clientId: 'me', limitMs, quiet: true, giveUp })
}

function tryFor(waitMs: number, locks: Locks, contact = contactOf(Infinity)): Promise<Lease> {
  const { signal } = new AbortController()
  return acquire({ locks, name: 'job', sharing: { kind: 'exclusive' }, waitMs, signal, contact })
}

describe('a store that cannot be reached', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('is tried again until the wait is over', async () => {
    const { locks } = locksThat([AWAY, AWAY, AWAY])
    const lease = tryFor(10_000, locks)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await lease).toBe(LEASE)
    const never = locksThat(Array.from({ length: 100 }, () => AWAY))
    const failed = expect(tryFor(3_000, never.locks)).rejects.toBe(AWAY)
    await vi.advanceTimersByTimeAsync(3_000)
    await failed
    expect(never.attempts()).toBe(6)
  })

  it('is tried once with --wait 0, and wrong credentials are always', async () => {
    const away = locksThat([AWAY])
    await expect(tryFor(0, away.locks)).rejects.toBe(AWAY)
    const denied = locksThat([DENIED])
    await expect(tryFor(Infinity, denied.locks)).rejects.toBe(DENIED)
    expect([away.attempts(), denied.attempts()]).toEqual([1, 1])
  })

  it('ends a run without --wait after 30 s of silence, and not one that waits for a busy lock', async () => {
    expect(runSettings(['job', '--', 'true'])?.outageMs).toBe(30_000)
    expect(runSettings(['job', '--wait', '10m', '--', 'true'])?.outageMs).toBe(Infinity)
    const giveUp = vi.fn()
    const contact = contactOf(30_000, giveUp)
    for (let second = 0; second < 60; second++) {
      channel('holdfast:attempt').publish({ clientId: 'me' })
      await vi.advanceTimersByTimeAsync(1_000)
    }
    contact.failed(AWAY)
    await vi.advanceTimersByTimeAsync(28_000)
    expect(giveUp).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(giveUp).toHaveBeenCalledWith(AWAY)
    contact.close()
  })

  it('is not tried again when the wait was given up with the same kind of error', async () => {
    const { locks, attempts } = locksThat(Array.from({ length: 100 }, () => AWAY))
    const away = new AbortController()
    const contact = contactOf(3_000, (failure) => away.abort(failure))
    const wait = acquire({
      locks,
      name: 'job',
      sharing: { kind: 'exclusive' },
      waitMs: Infinity,
      signal: away.signal,
      contact,
    })
    const failed = expect(wait).rejects.toBe(AWAY)
    await vi.advanceTimersByTimeAsync(10_000)
    await failed
    expect(attempts()).toBeLessThan(10)
    contact.close()
  })

  it('is no outage for a process that was stopped', async () => {
    const giveUp = vi.fn()
    const contact = contactOf(30_000, giveUp)
    vi.setSystemTime(Date.now() + 60_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(giveUp).not.toHaveBeenCalled()
    contact.close()
  })
})

describe('holdfast run at a server that is down', () => {
  it('tries for as long as --wait says, and exits with 69', async () => {
    const env = { HOLDFAST_STORE: 'redis://127.0.0.1:1' }
    const beganMs = performance.now()
    const run = new Box().holdfast(['run', 'job', '--wait', '1500ms', '--', 'true'], { env })
    expect(await run.code()).toBe(69)
    expect(performance.now() - beganMs).toBeGreaterThan(1_000)
    expect(run.stderr).toMatch(/ECONNREFUSED/)
  })
})
