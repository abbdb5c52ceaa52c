import type { Lease } from 'holdfast'
import { existsSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { execute } from '../../dist/run/execute.js'
import { runSettings, type RunSettings } from '../../dist/run/settings.js'
import { Guardian } from '../../dist/supervise/guardian.js'
import type { SignalHandler, Signals } from '../../dist/supervise/signals.js'
import { Box } from '../support/holdfast.js'

afterEach(() => vi.restoreAllMocks())

describe('the start of a command', () => {
  it('is given up for a signal that comes when the claim is written and the guardian is not ready', async () => {
    const file = new Box().file('worked')
    let deliver: SignalHandler | undefined
    let written: (() => void) | undefined
    const claim = new Promise<void>((resolve) => (written = resolve))
    const watch = Guardian.prototype.watch
    vi.spyOn(Guardian.prototype, 'watch').mockImplementation(async function (this: Guardian, target) {
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
