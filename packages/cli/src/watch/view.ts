/** The lines of `holdfast watch` for a terminal of some size. Pure, like the state. */
import type { LockInfo } from 'holdfast/store'
import { formatDuration } from '../args/duration.js'
import { waiterCount } from '../output/holders.js'
import { renderLock } from '../output/lock-page.js'
import { LOCK_COLUMNS, lockRows, type LockRow } from '../output/lock-table.js'
import { cutTo, displayWidth, renderTable, type Column } from '../output/table.js'
import type { Paint } from '../output/terminal.js'
import { printable } from '../output/text.js'
import { aged, selectedLock, visibleLocks, type WatchState } from './state.js'

export interface Size {
  readonly columns: number
  readonly lines: number
}

export interface ViewOptions {
  readonly size: Size
  readonly store: string
  readonly nowMs: number
  readonly paint: Paint
}

/** Lines that are no rows of the table: title, summary, blank, head, blank, keys. */
const FRAME_LINES = 6
const LIST_KEYS = 'q quit  s sort  r reverse  / filter  ↑↓ select  enter open'
const LOCK_KEYS = 'esc back  q quit'
const FILTER_KEYS = 'enter keep  esc clear'

/** How many rows of locks fit. */
export function pageLinesOf({ lines }: Size): number {
  return Math.max(1, lines - FRAME_LINES)
}

/** Returns exactly `size.lines` lines, none wider than the terminal. */
export function render(state: WatchState, options: ViewOptions): string[] {
  const { size, nowMs, paint } = options
  const sinceMs = state.answeredMs === undefined ? 0 : nowMs - state.answeredMs
  const now = { ...state, locks: aged(state.locks, sinceMs) }
  const title = `${paint('bold', 'holdfast watch')}  ${options.store}`
  const keys = state.typing ? FILTER_KEYS : state.opened ? LOCK_KEYS : LIST_KEYS
  const body = state.opened ? lockLines(now, options) : listLines(now, options)
  const room = Math.max(0, size.lines - 4)
  const shown = [title, summary(now, options), '', ...padded(body, room), paint('dim', keys)]
  return shown.slice(0, size.lines).map((line) => fit(line, size.columns))
}

function summary(state: WatchState, { nowMs, paint }: ViewOptions): string {
  if (state.failure !== undefined) {
    const age =
      state.answeredMs === undefined
        ? ''
        : ` (shown: ${formatDuration(nowMs - state.answeredMs)} old)`
    return paint('red', `${printable(state.failure)}${age}`)
  }
  if (state.answeredMs === undefined) return 'asking the store …'
  const holders = state.locks.reduce((sum, { holders: all }) => sum + all.length, 0)
  const waiters = state.locks.reduce((sum, info) => sum + waiterCount(info), 0)
  const parts = [
    `${state.locks.length}${state.truncated ? '+' : ''} locks, ${holders} holders, ${waiters} waiters`,
    `by ${state.sort}${state.reversed ? ', reversed' : ''}`,
    ...(state.filter === '' && !state.typing ? [] : [`filter: ${printable(state.filter)}`]),
  ]
  return parts.join(' · ') + (state.typing ? '█' : '')
}

function listLines(state: WatchState, { size, paint }: ViewOptions): string[] {
  const locks = visibleLocks(state)
  if (locks.length === 0)
    return [
      state.answeredMs === undefined
        ? ''
        : state.filter === ''
          ? 'No lock is held or waited for.'
          : 'No lock matches the filter.',
    ]
  const selected = selectedLock(state)
  const rows = lockRows(locks)
  const at = rows.findIndex(({ info }) => info.lock === selected?.lock)
  const page = pageLinesOf(size)
  const first = Math.max(0, Math.min(at - Math.floor(page / 2), rows.length - page))
  const visible = rows.slice(first, first + page)
  const columns = columnsFor(size.columns)
  const [head = '', ...lines] = renderTable(visible, columns, { width: size.columns, paint })
    .trimEnd()
    .split('\n')
  return [
    head,
    ...lines.map((line, index) =>
      visible[index]?.info.lock === selected?.lock ? paint('inverse', plain(line)) : line,
    ),
  ]
}

/** A row of the live table is one line, so long names are cut. An opened lock shows its name. */
function columnsFor(width: number): Column<LockRow>[] {
  const room = Math.max(12, Math.floor(width * 0.35))
  return LOCK_COLUMNS.map((column, index): Column<LockRow> => {
    const limit = index === 0 ? room : column.title === 'HELD BY' ? Math.floor(width * 0.25) : 0
    return limit === 0 ? column : { ...column, cell: (row) => cut(column.cell(row), limit) }
  })
}

function lockLines(state: WatchState, { size, paint }: ViewOptions): string[] {
  const info: LockInfo | undefined = state.locks.find(({ lock }) => lock === state.selected)
  if (info === undefined) {
    return wrapped(`${printable(state.selected ?? '')} is free now.`, size.columns)
  }
  const page = renderLock(info, { width: size.columns, paint })
  return [
    ...wrapped(`Lock:   ${printable(info.lock)}`, size.columns),
    ...page
      .trimEnd()
      .split('\n')
      .flatMap((line) =>
        displayWidth(plain(line)) > size.columns ? wrapped(plain(line), size.columns) : [line],
      ),
  ]
}

function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (let rest = text; rest !== '';) {
    const line = cutTo(columns, rest) || (Array.from(rest)[0] ?? '')
    lines.push(line)
    rest = rest.slice(line.length)
  }
  return lines
}

/** Returns `count` lines. Lines that do not fit are counted in the last one. */
function padded(lines: readonly string[], count: number): string[] {
  const excess = lines.length - count
  if (excess > 0 && count > 0)
    return [...lines.slice(0, count - 1), `… ${excess + 1} more lines: see holdfast inspect`]
  return Array.from({ length: count }, (_, index) => lines[index] ?? '')
}

function cut(text: string, columns: number): string {
  return displayWidth(text) <= columns ? text : `${cutTo(columns - 1, text)}…`
}

/** Cuts a line, which loses its colours when it is too long. */
function fit(line: string, columns: number): string {
  return displayWidth(plain(line)) <= columns ? line : cut(plain(line), columns)
}

// oxlint-disable-next-line no-control-regex -- the colours of this program
const COLOURS = /\u001b\[\d+m/g

function plain(line: string): string {
  return line.replace(COLOURS, '')
}
