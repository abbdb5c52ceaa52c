/** Describes holders and waiters in words. */
import { CAPACITY_ALL, type HolderInfo, type LockInfo, type Owner } from '../../store/index.js'
import { formatDuration } from '../args/duration.js'
import { redact } from '../../url/redact.js'
import { printable, shorten } from './text.js'

export function ownerText(owner: Owner): string {
  return printable(`${owner.host} pid ${owner.pid}`)
}

export function labelText(owner: Owner): string {
  return printable(redact(owner.label ?? ''))
}

/** How a lock is shared: it has one holder, readers and a writer, or several permits. */
export type LockType = 'exclusive' | 'read-write' | 'permits'

export function typeOf({ kind }: LockInfo): LockType {
  if (kind === 'semaphore') return 'permits'
  return kind === 'mutex' ? 'exclusive' : 'read-write'
}

/** What one claim takes of its lock. */
export type Mode = 'exclusive' | 'shared' | 'permits'

export function modeOf(info: LockInfo, weight: number): Mode {
  if (info.kind === 'semaphore') return 'permits'
  return info.kind === 'mutex' || weight >= CAPACITY_ALL ? 'exclusive' : 'shared'
}

export function kindText(info: LockInfo): string {
  if (info.kind !== 'semaphore') return typeOf(info)
  const used = info.holders.reduce((sum, holder) => sum + holder.weight, 0)
  return `${used} of ${info.capacity} permits`
}

export function modeText(info: LockInfo, weight: number): string {
  const mode = modeOf(info, weight)
  if (mode !== 'permits') return mode
  return weight === 1 ? '1 permit' : `${weight} permits`
}

/** The locks that the work of a holder waits for. */
export function waitsForText({ waitsFor = [] }: Owner): string {
  return printable(waitsFor.map(({ lock }) => lock).join(', '))
}

export function stolenText({ stolen, stealReason }: HolderInfo): string {
  if (!stolen) return ''
  return stealReason === undefined ? '(stolen) ' : `(stolen by ${printable(stealReason)}) `
}

/** Returns how many callers wait, those behind a waiter of the same process included. */
export function waiterCount(info: LockInfo): number {
  return info.waiters.reduce((sum, { owner }) => sum + 1 + (owner.localWaiters ?? 0), 0)
}

/** Describes the holders in one line, for a waiter. */
export function heldBy(info: LockInfo | undefined): string {
  const [first, ...others] = info?.holders ?? []
  if (first === undefined) return 'without a holder at this moment'
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return `held by ${holderText(first)}${more}`
}

const LABEL_LENGTH = 60

function holderText({ owner, heldMs }: HolderInfo): string {
  const label = shorten(labelText(owner), LABEL_LENGTH)
  return `${ownerText(owner)}${label === '' ? '' : ` (${label})`} for ${formatDuration(heldMs)}`
}
