import { createLocks, type Lease } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { execute } from '../../../dist/cli/run/execute.js'
import { runSettings, type RunSettings } from '../../../dist/cli/run/settings.js'
import { Guardian } from '../../../dist/cli/supervise/guardian.js'
import type { SignalHandler, Signals } from '../../../dist/cli/supervise/signals.js'
import { Box } from '../support/holdfast.js'

afterEach(() => vi.restoreAllMocks())

describe('the start of a command', () => {
  it('is given up for a signal that comes when the claim is written and the guardian is not ready', async () => {
    const file = new Box().file('worked')
    let deliver: SignalHandler | undefined
    let written: (() => void) | undefined
    const claim = new Promise<void>((resolve) => (written = resolve))
    const watch = Guardian.prototype.watch
    vi.spyOn(Guardian.prototype, 'watch').mockImplementation(async function (
      this: Guardian,
      target,
    ) {
      await claim
      await nextTurn()
      deliver?.('SIGTERM')
      await watch.call(this, target)
    })
    const lease = { name: 'job', remainingMs: 30_000, signal: new AbortController().signal }
    const running = execute({
      lease: { ...lease, annotate: async () => written?.() } as unknown as Lease,
      settings: runSettings(['job', '--', 'touch', file]) as RunSettings,
      env: process.env,
      signals: { handle: (handler: SignalHandler) => (deliver = handler) } as unknown as Signals,
      heldMs: 0,
    })
    await expect(running).rejects.toMatchObject({ code: 'INTERRUPTED', exitCode: 143 })
    expect(existsSync(file)).toBe(false)
  })
})

describe('a command that the guardian kills while the lease lives', () => {
  it('is reported as lost, with a message, and not as an unexplained signal', async () => {
    const { until } = Guardian.prototype
    // As if this process had been stopped right after a renewal that the guardian did not hear of.
    vi.spyOn(Guardian.prototype, 'until').mockImplementation(function (this: Guardian) {
      until.call(this, 200)
    })
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const locks = createLocks(memoryStore())
    const lease = await locks.mutex('job').acquire()
    const execution = await execute({
      lease,
      settings: runSettings(['job', '--', 'sleep', '60']) as RunSettings,
      env: process.env,
      signals: { handle: () => {} } as unknown as Signals,
      heldMs: 0,
    })
    expect(execution).toMatchObject({ status: { signal: 'SIGKILL' }, ended: 'lost' })
    expect(execution.loss).toContain('The guardian process killed the command')
    expect(stderr.mock.calls.join('')).toContain(execution.loss)
    expect(lease.held).toBe(true)
    await locks.close()
  })

  it('keeps its own status when another process kills it', async () => {
    const locks = createLocks(memoryStore())
    const lease = await locks.mutex('job').acquire()
    const execution = await execute({
      lease,
      settings: runSettings(['job', '--', 'sh', '-c', 'kill -s KILL $$']) as RunSettings,
      env: process.env,
      signals: { handle: () => {} } as unknown as Signals,
      heldMs: 0,
    })
    expect(execution).toMatchObject({
      status: { signal: 'SIGKILL' },
      ended: undefined,
      loss: undefined,
    })
    await locks.close()
  })
})
