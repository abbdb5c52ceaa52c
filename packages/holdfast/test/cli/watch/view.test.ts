/** The state and the view of `holdfast watch`, without a terminal. */
import { CAPACITY_ALL, type LockInfo } from 'holdfast/store'
import { describe, expect, it } from 'vitest'
import { displayWidth } from '../../../dist/cli/output/table.js'
import { keysIn } from '../../../dist/cli/watch/keys.js'
import { FIRST_STATE, press, visibleLocks, type WatchState } from '../../../dist/cli/watch/state.js'
import { render } from '../../../dist/cli/watch/view.js'

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
  intervalMs: 1_000,
  paint: (_: unknown, text: string) => text,
}

/** Shows the selected line in capitals. */
function inCapitals(style: unknown, text: string): string {
  return style === 'inverse' ? text.toUpperCase() : text
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

  it('home and end select the first and the last lock', () => {
    expect(pressAll(STATE, ['end']).selected).toBe(LONG)
    expect(pressAll(STATE, ['end', 'home']).selected).toBe('a')
  })

  it('come from the bytes of a terminal', () => {
    expect(keysIn('j\u001b[B\u001bOA\r\u007f\u0003\u001b')).toEqual([
      ...['j', 'down', 'up', 'enter', 'backspace', 'interrupt', 'escape'],
    ])
    expect(keysIn('\u001b[200~\u0001é')).toEqual(['é'])
    expect(keysIn('\u001b[F\u001bOF\u001b[4~\u001b[8~')).toEqual(['end', 'end', 'end', 'end'])
    expect(keysIn('\u001b[H\u001bOH\u001b[1~\u001b[7~')).toEqual(['home', 'home', 'home', 'home'])
  })
})

describe('the view', () => {
  it.each([
    [80, 24],
    [40, 10],
    [200, 50],
    [20, 5],
    [20, 16],
    [5, 16],
    [80, 1],
  ])('of %d columns and %d lines fits', (columns, lines) => {
    const failed = { ...STATE, failure: 'The store is away. '.repeat(20) }
    const states = [...[[], ['enter'], ['/']].map((keys) => pressAll(STATE, keys)), failed]
    for (const state of states) {
      const shown = render(state, { ...VIEW, size: { columns, lines } })
      expect(shown).toHaveLength(lines)
      for (const line of shown) expect(displayWidth(line)).toBeLessThanOrEqual(columns)
    }
  })

  it('says that the filter looks at the first locks alone, where there are more', () => {
    const filtered = { ...STATE, truncated: true, filter: 'b' }
    expect(render(filtered, VIEW)[1]).toContain('filter of these 3: b')
    const none = render({ ...filtered, filter: 'absent' }, VIEW).join('\n')
    expect(none).toContain('None of these 3 locks matches the filter. There are more')
  })

  it('ages what the store answered: TTLs shrink', () => {
    const shown = render(STATE, VIEW).join('\n')
    expect(shown).toMatch(/^a +host pid 7 +3\.0s +27s +2, longest 3\.0s/m)
  })

  it('keeps the last answer beside a failure', () => {
    const shown = render({ ...STATE, failure: 'The store is away.' }, VIEW).join('\n')
    expect(shown).toContain('as of 2.0s ago: The store is away.')
    expect(shown).toMatch(/^a +host/m)
  })

  it('breaks a long failure between words, and cuts it after two lines', () => {
    const failure = 'No server listens there. '.repeat(9)
    const [, first, second] = render({ ...STATE, failure }, VIEW)
    expect(first).toMatch(/^as of 2.0s ago: No server .* \w+\.?$/)
    expect(second).toMatch(/…$/)
  })

  it('shows that the store has not answered for longer than the interval', () => {
    const [inTime, late] = [2_900, 3_100].map((nowMs) => render(STATE, { ...VIEW, nowMs })[1])
    expect(inTime).toContain('3 locks, 3 holders')
    expect(late).toContain('as of 2.1s ago: the store has not answered since')
  })

  it.each([
    [80, 'LOCK HELD BY HELD FOR TTL LEFT WAITING'],
    [40, 'LOCK HELD BY TTL LEFT'],
    [20, 'LOCK TTL LEFT'],
    [10, 'LOCK'],
  ])('of %d columns leaves out columns, and keeps one line for each lock', (columns, titles) => {
    const size = { columns, lines: 16 }
    const selected = { ...STATE, selected: 'b' }
    const [head, ...rows] = render(selected, { ...VIEW, size, paint: inCapitals }).slice(3)
    expect(head?.split(/ {2,}/).join(' ').trim()).toBe(titles)
    expect(rows.slice(0, 4).map((row) => row.slice(0, 1))).toEqual(['a', 'B', 'b', ''])
  })

  it('shows a lock in a terminal of three lines', () => {
    const shown = render(STATE, { ...VIEW, size: { columns: 80, lines: 3 } })
    expect(shown[2]).toMatch(/^a +exclusive +host/)
  })

  it('shows the whole name of an opened lock', () => {
    const shown = render({ ...STATE, selected: LONG, opened: true }, VIEW).join('')
    expect(shown).toContain(LONG)
  })
})
