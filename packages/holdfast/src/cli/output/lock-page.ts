/** The page of `holdfast inspect`: one lock with its holders and waiters. */
import type { HolderInfo, LockInfo, WaiterInfo } from '../../store/index.js'
import { formatDuration } from '../args/duration.js'
import { kindText, labelText, modeText, ownerText, stolenText, waitsForText } from './holders.js'
import { renderTable, type Column, type TableOptions } from './table.js'
import { printable } from './text.js'

export function renderLock(info: LockInfo, options: TableOptions): string {
  const token =
    info.lastToken === undefined ? '' : `Tokens: the largest so far is ${info.lastToken}\n`
  const head = `Kind:   ${kindText(info)}\n${token}`
  return `${head}\n${holdersText(info, options)}\n${waitersText(info, options)}`
}

function holdersText(info: LockInfo, options: TableOptions): string {
  if (info.holders.length === 0) return 'The lock has no holder.\n'
  const columns: Column<HolderInfo>[] = [
    { title: 'HELD BY', cell: ({ owner }) => ownerText(owner) },
    { title: 'AS', cell: ({ weight }) => modeText(info, weight) },
    { title: 'HELD FOR', cell: ({ heldMs }) => formatDuration(heldMs), right: true },
    {
      title: 'TTL LEFT',
      cell: ({ remainingMs }) => formatDuration(remainingMs),
      right: true,
      style: ({ stolen }) => (stolen ? 'red' : undefined),
    },
    { title: 'TOKEN', cell: ({ token }) => token?.toString() ?? '-', right: true },
    { title: 'GROUP', cell: ({ owner }) => owner.group?.pgid.toString() ?? '-', right: true },
    { title: 'CLAIM', cell: ({ claimId }) => printable(claimId) },
    { title: 'LABEL', cell: (holder) => `${stolenText(holder)}${labelText(holder.owner)}` },
  ]
  const doWait = info.holders.some(({ owner }) => owner.waitsFor !== undefined)
  if (doWait) columns.push({ title: 'ITSELF WAITS FOR', cell: ({ owner }) => waitsForText(owner) })
  return renderTable(info.holders, columns, options)
}

function waitersText(info: LockInfo, options: TableOptions): string {
  if (info.waiters.length === 0) return 'No claim waits.\n'
  const columns: Column<WaiterInfo>[] = [
    { title: 'WAITER', cell: ({ owner }) => ownerText(owner) },
    { title: 'AS', cell: ({ weight }) => modeText(info, weight) },
    { title: 'WAITS FOR', cell: ({ waitedMs }) => formatDuration(waitedMs), right: true },
    { title: 'BEHIND IT', cell: ({ owner }) => String(owner.localWaiters ?? 0), right: true },
    { title: 'CLAIM', cell: ({ claimId }) => printable(claimId) },
    { title: 'LABEL', cell: ({ owner }) => labelText(owner) },
  ]
  return renderTable(info.waiters, columns, options)
}
