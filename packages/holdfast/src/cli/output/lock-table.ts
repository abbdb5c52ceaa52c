/** The table of `holdfast ls` and `holdfast watch`: a row for each holder. */
import type { HolderInfo, LockInfo } from '../../store/index.js'
import { formatDuration } from '../args/duration.js'
import { kindText, labelText, ownerText, waiterCount, waitsForText } from './holders.js'
import { leftOutColumns, renderTable, type Column, type TableOptions } from './table.js'
import { printable } from './text.js'

export interface LockRow {
  readonly info: LockInfo
  readonly holder: HolderInfo | undefined
  /** The columns of the lock itself are filled in the row of its first holder. */
  readonly first: boolean
}

export const LOCK_COLUMNS: readonly Column<LockRow>[] = [
  { title: 'LOCK', cell: ({ info, first }) => (first ? printable(info.lock) : '') },
  { title: 'KIND', cell: ({ info, first }) => (first ? kindText(info) : ''), optional: 2 },
  { title: 'HELD BY', cell: ({ holder }) => (holder ? ownerText(holder.owner) : '-') },
  {
    title: 'HELD FOR',
    cell: ({ holder }) => (holder ? formatDuration(holder.heldMs) : ''),
    right: true,
  },
  {
    title: 'TTL LEFT',
    cell: ({ holder }) => (holder ? ttlText(holder) : ''),
    right: true,
    style: ({ holder }) => (holder?.stolen === true ? 'red' : undefined),
  },
  {
    title: 'TOKEN',
    cell: ({ holder }) => holder?.token?.toString() ?? '',
    right: true,
    optional: 1,
  },
  {
    title: 'WAITING',
    cell: ({ info, first }) => (first ? waitingText(info) : ''),
    style: ({ info }) => (info.waiters.length > 0 ? 'yellow' : undefined),
  },
  {
    title: 'LABEL',
    cell: ({ holder }) => (holder ? labelText(holder.owner) : ''),
    optional: 3,
    shrinksTo: 10,
  },
]

/** Shown where a holder waits for another lock. */
const ITSELF_WAITS: Column<LockRow> = {
  title: 'ITSELF WAITS FOR',
  cell: ({ holder }) => (holder ? waitsForText(holder.owner) : ''),
  optional: 4,
}

export function renderLocks(locks: readonly LockInfo[], options: TableOptions = {}): string {
  if (locks.length === 0) return 'No lock is held or waited for.\n'
  const { width = Infinity } = options
  const rows = lockRows(locks)
  const doWait = rows.some(({ holder }) => holder?.owner.waitsFor !== undefined)
  const columns = doWait ? [...LOCK_COLUMNS, ITSELF_WAITS] : LOCK_COLUMNS
  const missing = leftOutColumns(rows, columns, width)
  const remark =
    missing.length === 0
      ? ''
      : `\nA wider terminal or a pipe also shows: ${missing.join(', ').toLowerCase()}.\n`
  return renderTable(rows, columns, options) + remark
}

export function lockRows(locks: readonly LockInfo[]): LockRow[] {
  return locks.flatMap((info): LockRow[] =>
    info.holders.length === 0
      ? [{ info, holder: undefined, first: true }]
      : info.holders.map((holder, index) => ({ info, holder, first: index === 0 })),
  )
}

function ttlText({ remainingMs, stolen }: HolderInfo): string {
  const left = formatDuration(remainingMs)
  return stolen ? `${left} (stolen)` : left
}

function waitingText(info: LockInfo): string {
  const count = waiterCount(info)
  if (count === 0) return '-'
  const longest = Math.max(...info.waiters.map(({ waitedMs }) => waitedMs))
  return `${count}, longest ${formatDuration(longest)}`
}
