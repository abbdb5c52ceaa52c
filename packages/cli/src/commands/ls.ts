/** `holdfast ls`: the locks that somebody holds or waits for. */
import type { HolderInfo, LockInfo } from 'holdfast/store'
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { formatDuration } from '../args/duration.js'
import { renderHelp } from '../args/help.js'
import { parseOptions } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { kindText, labelText, ownerText } from '../output/holders.js'
import { lockJson, printJson } from '../output/json.js'
import { renderTable, type Column } from '../output/table.js'
import { printable, shorten } from '../output/text.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...OUTPUT_OPTIONS }
const LIMIT = 1_000
const MORE = `\nThere are more than these ${LIMIT}. Give the beginning of their names: holdfast ls PREFIX\n`

export const command: Command = {
  help: {
    usage: 'holdfast ls [PREFIX] [options]',
    about:
      'Lists the locks that somebody holds or waits for, all of them or those whose names begin with PREFIX.',
    options: OPTIONS,
  },

  async main(argv) {
    const { values, positionals, rest } = parseOptions(OPTIONS, argv)
    if (values.help === true) {
      process.stdout.write(renderHelp(this.help))
      return EXIT.ok
    }
    const [prefix = '', extra] = [...positionals, ...(rest ?? [])]
    if (extra !== undefined)
      throw new UsageError(`ls takes one prefix; ${JSON.stringify(extra)} is too much.`)
    return withLocks({ store: values.store, system: values.system }, async (locks, location) => {
      // One more than is shown, to know that there are more.
      const seen = await locks.inspect({ prefix, limit: LIMIT + 1 })
      const [found, truncated] = [seen.slice(0, LIMIT), seen.length > LIMIT]
      if (values.json === true) {
        printJson({ store: location.shown, locks: found.map(lockJson), truncated })
      } else {
        const head = `Store: ${location.shown} (${location.source})\n\n`
        process.stdout.write(head + renderLocks(found) + (truncated ? MORE : ''))
      }
      return EXIT.ok
    })
  },
}

interface Row {
  readonly info: LockInfo
  readonly holder: HolderInfo | undefined
  /** The lock itself is told once, in the row of its first holder. */
  readonly first: boolean
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'LOCK', cell: ({ info, first }) => (first ? shorten(printable(info.lock), 40) : '') },
  { title: 'KIND', cell: ({ info, first }) => (first ? kindText(info) : '') },
  { title: 'HELD BY', cell: ({ holder }) => (holder ? ownerText(holder.owner) : '-') },
  {
    title: 'FOR',
    cell: ({ holder }) => (holder ? formatDuration(holder.heldMs) : ''),
    right: true,
  },
  { title: 'TTL LEFT', cell: ({ holder }) => (holder ? ttlText(holder) : ''), right: true },
  { title: 'TOKEN', cell: ({ holder }) => holder?.token?.toString() ?? '', right: true },
  { title: 'WAITING', cell: ({ info, first }) => (first ? waitingText(info) : '') },
  { title: 'LABEL', cell: ({ holder }) => (holder ? labelText(holder.owner, 40) : '') },
]

export function renderLocks(locks: readonly LockInfo[]): string {
  if (locks.length === 0) return 'No lock is held, and nobody waits.\n'
  return renderTable(locks.flatMap(rowsOf), COLUMNS)
}

function rowsOf(info: LockInfo): Row[] {
  if (info.holders.length === 0) return [{ info, holder: undefined, first: true }]
  return info.holders.map((holder, i) => ({ info, holder, first: i === 0 }))
}

function ttlText(holder: HolderInfo): string {
  const left = formatDuration(holder.remainingMs)
  return holder.stolen ? `${left} (stolen)` : left
}

function waitingText(info: LockInfo): string {
  const count = info.waiters.reduce((sum, waiter) => sum + 1 + (waiter.owner.localWaiters ?? 0), 0)
  if (count === 0) return '-'
  const longest = Math.max(...info.waiters.map((waiter) => waiter.waitedMs))
  return `${count}, longest ${formatDuration(longest)}`
}
