/** The lines of `holdfast watch` for a terminal of some size. Pure, like the state. */
import { stripVTControlCharacters } from 'node:util'
import type { LockInfo } from '../../store/index.js'
import { formatDuration } from '../args/duration.js'
import { waiterCount } from '../output/holders.js'
import { renderLock } from '../output/lock-page.js'
import { fold } from '../output/fold.js'
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
  /** The time between two requests to the store. */
  readonly intervalMs: number
  readonly paint: Paint
}

/** Lines that are no rows of the table: title, summary, blank, head, blank, keys. */
const FRAME_LINES = 6
/** The same in a terminal too low for that: summary and head. */
const LOW_FRAME_LINES = 2
/** An answer that takes this much longer than the interval is late. */
const LATE_MS = 1_000
/** How many lines of a failure are shown. */
const FAILURE_LINES = 2
const LIST_KEYS = 'q quit  s sort  r reverse  / filter  ↑↓ select  enter open'
const LOCK_KEYS = 'esc back  q quit'
const FILTER_KEYS = 'enter keep  esc clear'

/** How many rows of locks fit. */
export function pageLinesOf({ lines }: Size): number {
  return Math.max(1, lines - (isLow(lines) ? LOW_FRAME_LINES : FRAME_LINES))
}

function isLow(lines: number): boolean {
  return lines < FRAME_LINES
}

/** Returns exactly `size.lines` lines, none wider than the terminal. */
export function render(state: WatchState, options: ViewOptions): string[] {
  const { size, nowMs, paint } = options
  const sinceMs = state.answeredMs === undefined ? 0 : nowMs - state.answeredMs
  const now = { ...state, locks: aged(state.locks, sinceMs) }
  const title = `${paint('bold', 'holdfast watch')}  ${options.store}`
  const keys = state.typing ? FILTER_KEYS : state.opened ? LOCK_KEYS : LIST_KEYS
  const above = summary(now, options)
  const body = state.opened ? lockLines(now, options) : listLines(now, options)
  const room = (frame: number): number => Math.max(0, size.lines - above.length - frame)
  const shown = isLow(size.lines)
    ? [...above, ...padded(body, room(0))]
    : [title, ...above, '', ...padded(body, room(3)), paint('dim', keys)]
  return shown.slice(0, size.lines).map((line) => fit(line, size.columns))
}

function summary(state: WatchState, options: ViewOptions): string[] {
  const { size, nowMs, intervalMs, paint } = options
  const { answeredMs, failure } = state
  const age = answeredMs === undefined ? undefined : nowMs - answeredMs
  if (failure !== undefined) {
    const asOf = age === undefined ? '' : `as of ${formatDuration(age)} ago: `
    const lines = fold(`${asOf}${printable(failure)}`, size.columns)
    const shown = lines.slice(0, isLow(size.lines) ? 1 : FAILURE_LINES)
    if (shown.length < lines.length) shown.push(cut(`${shown.pop() ?? ''} …`, size.columns))
    return shown.map((line) => paint('red', line))
  }
  if (age === undefined) return ['asking the store …']
  if (age > intervalMs + LATE_MS)
    return [paint('yellow', `as of ${formatDuration(age)} ago: the store has not answered since`)]
  const holders = state.locks.reduce((sum, { holders: all }) => sum + all.length, 0)
  const waiters = state.locks.reduce((sum, info) => sum + waiterCount(info), 0)
  const parts = [
    `${state.locks.length}${state.truncated ? '+' : ''} locks, ${holders} holders, ${waiters} waiters`,
    `by ${state.sort}${state.reversed ? ', reversed' : ''}`,
    ...(state.filter === '' && !state.typing
      ? []
      : [
          `filter${state.truncated ? ` of these ${state.locks.length}` : ''}: ${printable(state.filter)}`,
        ]),
  ]
  return [parts.join(' · ') + (state.typing ? '█' : '')]
}

function listLines(state: WatchState, { size, paint }: ViewOptions): string[] {
  const locks = visibleLocks(state)
  if (locks.length === 0)
    return [
      state.answeredMs === undefined
        ? ''
        : state.filter === ''
          ? 'No lock is held or waited for.'
          : state.truncated
            ? `None of these ${state.locks.length} locks matches the filter. There are more: holdfast watch PREFIX`
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
      visible[index]?.info.lock === selected?.lock
        ? paint('inverse', stripVTControlCharacters(line))
        : line,
    ),
  ]
}

/** A terminal that is narrower shows only the number of waiters. */
const NARROW = 60
/** After the columns that `ls` leaves out, the live table leaves out these, in this order. */
const LEFT_OUT_LATER = ['HELD FOR', 'WAITING', 'HELD BY', 'TTL LEFT']

/** A row of the live table is one line, so long names are cut. An opened lock shows its name. */
function columnsFor(width: number): Column<LockRow>[] {
  const limits: Readonly<Record<string, number>> = {
    LOCK: Math.min(width, Math.max(8, Math.floor(width * 0.35))),
    'HELD BY': Math.max(10, Math.floor(width * 0.25)),
  }
  return LOCK_COLUMNS.map((column): Column<LockRow> => {
    const { title } = column
    const later = LEFT_OUT_LATER.indexOf(title)
    const optional = later === -1 ? column.optional : LOCK_COLUMNS.length + later
    const isCount = title === 'WAITING' && width < NARROW
    const cell = isCount ? waiterCountText : column.cell
    const limit = limits[title]
    return {
      ...column,
      ...(optional === undefined ? {} : { optional }),
      cell: limit === undefined ? cell : (row) => cut(cell(row), limit),
    }
  })
}

function waiterCountText({ info, first }: LockRow): string {
  return first ? String(waiterCount(info)) : ''
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
      .flatMap((line) => wrappedLine(line, size.columns)),
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

/** Wraps a line, which loses its colours when it is too long. */
function wrappedLine(line: string, columns: number): string[] {
  const plain = stripVTControlCharacters(line)
  return displayWidth(plain) > columns ? wrapped(plain, columns) : [line]
}

/** Cuts a line, which loses its colours when it is too long. */
function fit(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line)
  return displayWidth(plain) <= columns ? line : cut(plain, columns)
}
