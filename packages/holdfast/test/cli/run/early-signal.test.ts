/**
 * Signals before the wait for the lock has begun: they have a result line and a status file as
 * well.
 */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'
import { Program } from '../support/program.js'
import { listenInSilence } from '../support/silent-server.js'
import { eventually } from '@holdfast/servers/eventually'

const EARLY_SIGNAL = fileURLToPath(new URL('../drivers/early-signal.mjs', import.meta.url))

/**
 * Runs `holdfast` with a signal at the nth time that it listens for it: the first is its first
 * line.
 */
function signalled(box: Box, signal: string, nth: number, args: readonly string[]): Program {
  return new Program(process.execPath, ['--import', EARLY_SIGNAL, BIN, ...args], {
    env: { ...box.env, HOLDFAST_TEST_SIGNAL: `${signal} ${nth}` },
  })
}

describe('a signal at the start of a run', () => {
  it.each([
    ['SIGTERM', 1, 143],
    ['SIGINT', 1, 130],
    ['SIGHUP', 1, 129],
    ['SIGQUIT', 1, 131],
    ['SIGTERM', 2, 143],
  ])(
    '%s at listener %d gives a result line, a status file, and no command',
    async (signal, nth, code) => {
      const box = new Box()
      const [file, started] = [box.file('status'), box.file('started')]
      const args = ['run', 'job', '--json', '--status-file', file, '--', 'touch', started]
      const run = signalled(box, signal, nth, args)
      expect(await run.code()).toBe(code)
      const status = {
        outcome: 'interrupted',
        exitCode: code,
        command: null,
        error: { code: 'INTERRUPTED' },
      }
      expect(JSON.parse(run.stderr)).toMatchObject(status)
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject(status)
      expect(existsSync(started)).toBe(false)
    },
  )

  it('reports it in words without --json', async () => {
    const run = signalled(new Box(), 'SIGTERM', 1, ['run', 'job', '--', 'true'])
    expect(await run.code()).toBe(143)
    expect(run.stderr).toBe('holdfast: SIGTERM came before the work under "job" could start.\n')
  })

  it('ends other commands', async () => {
    expect(await signalled(new Box(), 'SIGTERM', 1, ['ls']).code()).toBe('SIGTERM')
  })

  it('comes with a status also while a store hangs, and when a second one cuts the withdrawal short', async () => {
    const box = new Box()
    const file = box.file('status')
    const server = await listenInSilence()
    try {
      const run = box.holdfast(['run', 'job', '--json', '--status-file', file, '--', 'true'], {
        env: { HOLDFAST_STORE: `redis://127.0.0.1:${server.port}` },
      })
      await eventually('it has connected', () => server.connections() > 0)
      run.kill('SIGTERM')
      run.kill('SIGINT')
      const exitCode = await run.code()
      // The kernel decides which one comes first.
      expect([130, 143]).toContain(exitCode)
      expect(JSON.parse(run.stderr)).toMatchObject({ outcome: 'interrupted', exitCode })
      expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ exitCode })
    } finally {
      server.stop()
    }
  })
})
