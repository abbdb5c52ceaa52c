/**
 * Whether the child processes that worked under a dead holder's lock are gone.
 *
 * `holdfast run` records the process group of its command. When the wrapper is killed, the command may live on for a
 * moment, and the next holder must not start beside it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { ProcessGroup } from '../../store/contract.js'

/** True when no process of the group is left. False also when that cannot be seen: then the lease has to run out. */
export function isGroupGone(group: ProcessGroup, proc = '/proc'): boolean {
  let entries: string[]
  try {
    entries = readdirSync(proc)
  } catch {
    return false
  }
  const leader = readStat(`${proc}/${group.pgid}/stat`)
  // The number belongs to another process now, which the kernel allows only when the group has no member any more.
  if (leader && leader.startTime !== group.startTime) return true
  return !entries.some((entry) => {
    if (!/^\d+$/.test(entry)) return false
    const stat = readStat(`${proc}/${entry}/stat`)
    return stat !== undefined && stat.group === group.pgid && !stat.dead
  })
}

interface ProcessStat {
  readonly group: number
  readonly startTime: string
  /** A zombie does no work. */
  readonly dead: boolean
}

function readStat(path: string): ProcessStat | undefined {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
  // The name of the program stands in parentheses and may contain anything; what follows counts from its end.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, , group] = fields
  return { group: Number(group), startTime: fields[19] ?? '', dead: state === 'Z' || state === 'X' }
}
