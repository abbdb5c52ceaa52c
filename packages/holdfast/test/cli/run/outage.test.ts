/** A store that cannot be reached: how long a run tries again, and what it does not wait for. */
import { StoreUnavailableError } from 'holdfast'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { channel } from 'node:diagnostics_channel'
import { runSettings } from '../../../dist/cli/run/settings.js'
import { StoreContact } from '../../../dist/cli/run/store-contact.js'
import { Box } from '../support/holdfast.js'
import { listenInSilence } from '../support/silent-server.js'

const AWAY = new StoreUnavailableError('connect ECONNREFUSED', { store: 'redis' })
function contactOf(limitMs: number, giveUp: (failure: unknown) => void = () => {}): StoreContact {
  return new StoreContact({ clientId: 'me', limitMs, quiet: true, giveUp })
}

describe('a store that cannot be reached', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('ends a run without --wait after 30 s of silence, and not one that waits for a busy lock', async () => {
    expect(runSettings(['job', '--', 'true'])?.outageMs).toBe(30_000)
    expect(runSettings(['job', '--wait', '10m', '--', 'true'])?.outageMs).toBe(Infinity)
    expect(runSettings(['job', '--wait', '0', '--', 'true'])?.outageMs).toBe(2_000)
    const giveUp = vi.fn()
    const contact = contactOf(30_000, giveUp)
    for (let second = 0; second < 60; second++) {
      channel('holdfast:attempted').publish({ clientId: 'me' })
      await vi.advanceTimersByTimeAsync(1_000)
    }
    channel('holdfast:store-unavailable').publish({ clientId: 'me', error: AWAY })
    await vi.advanceTimersByTimeAsync(28_000)
    expect(giveUp).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(giveUp).toHaveBeenCalledWith(AWAY)
    contact.close()
  })

  it('ends a run with --wait 0 after 2 s without any answer', async () => {
    const giveUp = vi.fn()
    const contact = contactOf(
      runSettings(['job', '--wait', '0', '--', 'true'])?.outageMs ?? 0,
      giveUp,
    )
    await vi.advanceTimersByTimeAsync(1_999)
    expect(giveUp).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(giveUp).toHaveBeenCalledWith(undefined)
    contact.close()
  })

  it('is not what another client of the process met', async () => {
    const contact = contactOf(30_000)
    channel('holdfast:store-unavailable').publish({ clientId: 'another', error: AWAY })
    expect(contact.failure).toBeUndefined()
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

describe('holdfast run at a server that accepts and stays silent', () => {
  it.each([
    ['redis', '0'],
    ['redis+cluster', '0'],
    ['postgres', '0'],
    ['mysql', '0'],
    ['etcd', '0'],
    ['zk', '0'],
    ['zk', '2s'],
  ])('%s with --wait %s ends before the timeout of a request', async (scheme, wait) => {
    const server = await listenInSilence()
    const box = new Box()
    const run = box.holdfast([
      ...['run', 'job', '--store', `${scheme}://127.0.0.1:${server.port}`],
      ...['--wait', wait, '--', 'true'],
    ])
    expect(await run.code()).toBe(69)
    // The timeout of a request would be named with its time.
    expect(run.stderr).toMatch(/does not answer|Redis: timeout/)
    expect(run.stderr).not.toMatch(/\d ms/)
    server.stop()
  })
})
