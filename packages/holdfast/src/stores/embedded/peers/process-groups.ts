/**
 * Whether the child processes that worked under a dead holder's lock are gone.
 *
 * `holdfast run` records the process group of its command. When the wrapper is killed, the command
 * may live on for a moment, and the next holder must not start beside it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { ProcessGroup } from '../../../store/contract.js'

/**
 * True when no process of the group is left. False also when that cannot be seen: then the lease
 * has to run out.
 */
export function isGroupGone(group: ProcessGroup): boolean {
  if (!hasMember(group.pgid)) return true
  const leader = readStat(`/proc/${group.pgid}/stat`)
  // The number belongs to another process now, which the kernel allows only when the group has no
  // member any more.
  if (leader && leader.startTime !== group.startTime) return true
  // What is left may be zombies, which do no work. Members that are hidden from us (hidepid) count
  // as alive.
  const members = listProcesses().flatMap((pid) => readStat(`/proc/${pid}/stat`) ?? [])
  const ours = members.filter((member) => member.group === group.pgid)
  return ours.length > 0 && ours.every((member) => member.dead)
}

/** Asks the kernel, which costs less than a look at all processes. */
function hasMember(pgid: number): boolean {
  // These numbers would ask about all processes, or about our own group.
  if (!Number.isSafeInteger(pgid) || pgid <= 1) return true
  try {
    process.kill(-pgid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
  } catch {
    return []
  }
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
  // The name of the program stands in parentheses and may contain anything; what follows counts
  // from its end.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, , group] = fields
  return { group: Number(group), startTime: fields[19] ?? '', dead: state === 'Z' || state === 'X' }
}
