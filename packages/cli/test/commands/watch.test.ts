/** `holdfast watch` in a real terminal, and its state and view without one. */
import { readFileSync } from 'node:fs'
import { eventually } from '@holdfast/servers/eventually'
import { CAPACITY_ALL, type LockInfo } from 'holdfast/store'
import { describe, expect, it } from 'vitest'
import { displayWidth } from '../../dist/output/table.js'
import { keysIn } from '../../dist/watch/keys.js'
import { FIRST_STATE, press, visibleLocks, type WatchState } from '../../dist/watch/state.js'
import { render } from '../../dist/watch/view.js'
import { Box } from '../support/holdfast.js'
import { KEYS, type Terminal } from '../support/terminal.js'

function lock(name: string, heldMs: number, waiters: number): LockInfo {
  const owner = { clientId: 'c', host: 'host', pid: 7, label: `label of ${name}` }
  return {
    lock: name,
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    lastToken: 5n,
    holders: [
      {
        claimId: 'c.1',
        owner,
        weight: CAPACITY_ALL,
        token: 5n,
        heldMs,
        remainingMs: 30_000 - heldMs,
        stolen: false,
      },
    ],
    waiters: Array.from({ length: waiters }, (_, index) => ({
      claimId: `w.${index}`,
      owner,
      weight: CAPACITY_ALL,
      waitedMs: 1_000,
    })),
  }
}

const LONG = `backup:${'of-a-very-long-name-'.repeat(5)}`
const LOCKS = [lock('b', 9_000, 0), lock('a', 1_000, 2), lock(LONG, 5_000, 1)]
const STATE: WatchState = { ...FIRST_STATE, locks: LOCKS, answeredMs: 1_000 }
const VIEW = {
  size: { columns: 80, lines: 24 },
  store: 'embedded:/x',
  nowMs: 3_000,
  paint: (_: unknown, text: string) => text,
}

function pressAll(state: WatchState, keys: readonly string[]): WatchState {
  return keys.reduce((now, key) => {
    const next = press(now, key, 10)
    if (next === 'quit') throw new Error(`${key} quits`)
    return next
  }, state)
}

const names = (state: WatchState): string[] => visibleLocks(state).map(({ lock: name }) => name)

describe('the keys', () => {
  it.each([
    [[], ['a', 'b', LONG]],
    [['r'], [LONG, 'b', 'a']],
    [['s'], ['b', LONG, 'a']],
    [
      ['s', 's'],
      ['b', LONG, 'a'],
    ],
    [
      ['s', 's', 's'],
      ['a', LONG, 'b'],
    ],
    [['/', 'b', 'a', 'enter'], [LONG]],
    [
      ['/', 'x', 'backspace', 'enter'],
      ['a', 'b', LONG],
    ],
    [
      ['/', 'x', 'escape'],
      ['a', 'b', LONG],
    ],
  ])('%j sort and filter', (keys, expected) => {
    expect(names(pressAll(STATE, keys))).toEqual(expected)
  })

  it.each(['q', 'interrupt'])('%s quits', (key) => {
    expect(press(STATE, key, 10)).toBe('quit')
  })

  it('q is a letter in the filter', () => {
    expect(pressAll(STATE, ['/', 'q']).filter).toBe('q')
  })

  it('select, open one lock and go back', () => {
    const opened = pressAll(STATE, ['down', 'down', 'up', 'enter'])
    expect([opened.opened, opened.selected]).toEqual([true, 'b'])
    expect(pressAll(opened, ['escape']).opened).toBe(false)
  })

  it('come from the bytes of a terminal', () => {
    expect(keysIn('j\u001b[B\u001bOA\r\u007f\u0003\u001b')).toEqual([
      ...['j', 'down', 'up', 'enter', 'backspace', 'interrupt', 'escape'],
    ])
    expect(keysIn('\u001b[200~\u0001é')).toEqual(['é'])
  })
})

describe('the view', () => {
  it.each([
    [80, 24],
    [40, 10],
    [200, 50],
    [20, 5],
  ])('of %d columns and %d lines fits', (columns, lines) => {
    for (const keys of [[], ['enter'], ['/']]) {
      const shown = render(pressAll(STATE, keys), { ...VIEW, size: { columns, lines } })
      expect(shown).toHaveLength(lines)
      for (const line of shown) expect(displayWidth(line)).toBeLessThanOrEqual(columns)
    }
  })

  it('ages what the store answered: TTLs shrink', () => {
    const shown = render(STATE, VIEW).join('\n')
    expect(shown).toMatch(/^a +host pid 7 +3\.0s +27s +2, longest 3\.0s/m)
  })

  it('keeps the last answer beside a failure', () => {
    const shown = render({ ...STATE, failure: 'The store is away.' }, VIEW).join('\n')
    expect(shown).toContain('The store is away. (shown: 2.0s old)')
    expect(shown).toMatch(/^a +host/m)
  })

  it('shows the whole name of an opened lock', () => {
    const shown = render({ ...STATE, selected: LONG, opened: true }, VIEW).join('')
    expect(shown).toContain(LONG)
  })
})

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

/** Resolves when the system has stopped a process. */
function isStopped(pid: number): Promise<void> {
  return eventually(
    () => `process ${pid} is stopped`,
    () => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T '),
  )
}
