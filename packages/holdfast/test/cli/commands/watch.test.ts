/** `holdfast watch` in a real terminal. */
import { readFileSync, writeFileSync } from 'node:fs'
import { eventually } from '@holdfast/servers/eventually'
import { startRedis } from '@holdfast/servers/redis'
import { describe, expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'
import { KEYS, Terminal } from '../support/terminal.js'

describe('holdfast watch', () => {
  it('refuses a pipe, and names the way for scripts', async () => {
    const run = new Box().holdfast(['watch'])
    expect(await run.code()).toBe(64)
    expect(run.stderr).toContain('holdfast ls --json')
  })

  it.each([
    ['q', 0],
    ['\u0003', 0],
  ])('shows holders and waiters, and %j restores the terminal', async (key, code) => {
    const box = new Box()
    const holder = await box.holder('deploy')
    const waiter = box.holdfast(['run', 'deploy', '--', 'true'])
    await box.waiters('deploy', 1)
    const terminal = box.inTerminal(['watch'], 80)
    await terminal.shows(/deploy .*pid \d+ .*1, longest/)
    expect(terminal.screen).toContain('\u001b[?1049h')
    terminal.types(key)
    expect(await terminal.code()).toBe(code)
    expect(terminal.screen.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
    holder.types('\n')
    expect(await waiter.code()).toBe(0)
  })

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const)(
    'restores the terminal after %s',
    async (signal) => {
      const terminal = new Box().inTerminal(['watch'], 80)
      await terminal.shows('No lock is held')
      process.kill(terminal.pid, signal)
      expect(await terminal.code()).toBeGreaterThan(128)
      expect(terminal.screen).toContain('\u001b[?25h\u001b[?1049l')
    },
  )

  it.each([
    ['Ctrl-Z', (terminal: Terminal) => terminal.types(KEYS.ctrlZ)],
    ['SIGTSTP', (terminal: Terminal) => process.kill(terminal.pid, 'SIGTSTP')],
    ['SIGSTOP', (terminal: Terminal) => process.kill(terminal.pid, 'SIGSTOP')],
  ])('takes the terminal again after %s and SIGCONT', async (_, stop) => {
    const terminal = new Box().inTerminal(['watch'], 80)
    await terminal.shows('No lock is held')
    stop(terminal)
    await isStopped(terminal.pid)
    process.kill(terminal.pid, 'SIGCONT')
    await terminal.shows(/\[\?1049h[^]*\[\?1049l[^]*\[\?1049h[^]*No lock is held/)
    terminal.types('q')
    expect(await terminal.code()).toBe(0)
  })
})

describe('an exception in holdfast watch', () => {
  it('restores the terminal, and is reported', async () => {
    const box = new Box()
    const broken = box.file('broken.cjs')
    writeFileSync(broken, BREAKS_AT_THE_THIRD_WRITE)
    const env = { ...box.env, NODE_OPTIONS: `--require ${broken}` }
    const terminal = new Terminal(process.execPath, [BIN, 'watch'], env, 80)
    expect(await terminal.code()).toBe(70)
    const [, after = ''] = terminal.screen.split('\u001b[?25h\u001b[?1049l')
    expect(after.trim()).toBe('holdfast: broken This is a fault of Holdfast; please report it.')
  })
})

const BREAKS_AT_THE_THIRD_WRITE = `
  const { write } = process.stdout
  let writes = 0
  process.stdout.write = function (...args) {
    writes += 1
    if (writes === 3) throw new Error('broken')
    return write.apply(this, args)
  }
`

describe('a change under holdfast watch', () => {
  it('to a narrow terminal leaves out columns', async () => {
    const box = new Box()
    const holder = await box.holder('deploy')
    const terminal = box.inTerminal(['watch'], 80)
    await terminal.shows(/HELD FOR[^]*deploy/)
    terminal.resize(20, 16)
    await terminal.shows(/LOCK {4}TTL LEFT/)
    terminal.types('q')
    expect(await terminal.code()).toBe(0)
    holder.types('\n')
  })

  it('to a store that is away shows the age of the last answer', async () => {
    const server = await startRedis()
    const url = `redis://127.0.0.1:${server.port}`
    const terminal = new Box().inTerminal(['watch', '--store', url], 80)
    await terminal.shows('No lock is held')
    await server.stop()
    await terminal.shows(/as of \S+ ago: the store has not answered since/)
    await terminal.shows(/as of \S+ ago: Redis/, 20_000)
    terminal.types('q')
    expect(await terminal.code()).toBe(0)
  })
})

/** Resolves when the system has stopped a process. */
function isStopped(pid: number): Promise<void> {
  return eventually(
    () => `process ${pid} is stopped`,
    () => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T '),
  )
}
