/** Says in words who holds a lock and who waits for it. */
import { CAPACITY_ALL, type HolderInfo, type LockInfo, type Owner } from 'holdfast/store'
import { formatDuration } from '../args/duration.js'
import { printable, redact, shorten } from './text.js'

export function ownerText(owner: Owner): string {
  return printable(`${owner.host} pid ${owner.pid}`)
}

export function labelText(owner: Owner, length = 60): string {
  return shorten(printable(redact(owner.label ?? '')), length)
}

export function kindText(info: LockInfo): string {
  if (info.kind !== 'semaphore') return info.kind === 'mutex' ? 'exclusive' : 'read-write'
  const used = info.holders.reduce((sum, holder) => sum + holder.weight, 0)
  return `${used} of ${info.capacity} permits`
}

/** How a holder holds: for readers-writer locks the kind alone does not say it. */
export function modeText(info: LockInfo, weight: number): string {
  if (info.kind === 'semaphore') return weight === 1 ? '1 permit' : `${weight} permits`
  return info.kind === 'mutex' || weight >= CAPACITY_ALL ? 'exclusive' : 'shared'
}

/** One line for whoever waits: who is it that I wait for? */
export function heldBy(info: LockInfo | undefined): string {
  const [first, ...others] = info?.holders ?? []
  if (first === undefined) return 'held by nobody at this moment'
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `held by ${holderText(first)}${more}`
}

function holderText(holder: HolderInfo): string {
  const label = labelText(holder.owner)
  return `${ownerText(holder.owner)}${label === '' ? '' : ` (${label})`} for ${formatDuration(holder.heldMs)}`
}
