/** `holdfast inspect`: all that the store knows about one lock. */
import type { HolderInfo, LockInfo, WaiterInfo } from 'holdfast/store'
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { formatDuration } from '../args/duration.js'
import { renderHelp } from '../args/help.js'
import { oneName } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { EXIT } from '../exit-codes.js'
import { kindText, labelText, modeText, ownerText } from '../output/holders.js'
import { lockJson, printJson } from '../output/json.js'
import { renderTable, type Column } from '../output/table.js'
import { printable } from '../output/text.js'
import { lookUpLock } from '../run/waiting.js'
import type { StoreLocation } from '../stores/locate.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...OUTPUT_OPTIONS }

export const command: Command = {
  help: {
    usage: 'holdfast inspect NAME [options]',
    about:
      'Shows who holds the lock NAME, who waits for it and since when, with claim ids and fencing tokens.',
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) {
      process.stdout.write(renderHelp(this.help))
      return EXIT.ok
    }
    const name = oneName('inspect', parsed)
    return withLocks(parsed.values, async (locks, location) => {
      // Only to have the name checked as everywhere else.
      locks.mutex(name)
      const info = await lookUpLock(locks, name)
      if (parsed.values.json === true) {
        printJson({ store: location.shown, lock: info === undefined ? null : lockJson(info) })
      } else process.stdout.write(renderLock(name, info, location))
      return EXIT.ok
    })
  },
}

function renderLock(name: string, info: LockInfo | undefined, location: StoreLocation): string {
  const head = `Lock:   ${printable(name)}\nStore:  ${location.shown} (${location.source})\n`
  if (info === undefined) return `${head}\nNobody holds it, and nobody waits.\n`
  const token =
    info.lastToken === undefined ? '' : `Tokens: the largest so far is ${info.lastToken}\n`
  return `${head}Kind:   ${kindText(info)}\n${token}\n${holdersText(info)}\n${waitersText(info)}`
}

function holdersText(info: LockInfo): string {
  if (info.holders.length === 0) return 'Held by nobody.\n'
  const columns: Column<HolderInfo>[] = [
    { title: 'HELD BY', cell: ({ owner }) => ownerText(owner) },
    { title: 'AS', cell: ({ weight }) => modeText(info, weight) },
    { title: 'FOR', cell: ({ heldMs }) => formatDuration(heldMs), right: true },
    { title: 'TTL LEFT', cell: ({ remainingMs }) => formatDuration(remainingMs), right: true },
    { title: 'TOKEN', cell: ({ token }) => token?.toString() ?? '-', right: true },
    { title: 'GROUP', cell: ({ owner }) => owner.group?.pgid.toString() ?? '-', right: true },
    { title: 'CLAIM', cell: ({ claimId }) => printable(claimId) },
    { title: 'LABEL', cell: (holder) => `${stolenText(holder)}${labelText(holder.owner, 80)}` },
  ]
  return renderTable(info.holders, columns)
}

function stolenText({ stolen, stealReason }: HolderInfo): string {
  if (!stolen) return ''
  return stealReason === undefined ? '(stolen) ' : `(stolen by ${printable(stealReason)}) `
}

function waitersText(info: LockInfo): string {
  if (info.waiters.length === 0) return 'Nobody waits.\n'
  const columns: Column<WaiterInfo>[] = [
    { title: 'WAITS', cell: ({ owner }) => ownerText(owner) },
    { title: 'AS', cell: ({ weight }) => modeText(info, weight) },
    { title: 'FOR', cell: ({ waitedMs }) => formatDuration(waitedMs), right: true },
    { title: 'BEHIND IT', cell: ({ owner }) => String(owner.localWaiters ?? 0), right: true },
    { title: 'CLAIM', cell: ({ claimId }) => printable(claimId) },
    { title: 'LABEL', cell: ({ owner }) => labelText(owner, 80) },
  ]
  return renderTable(info.waiters, columns)
}
