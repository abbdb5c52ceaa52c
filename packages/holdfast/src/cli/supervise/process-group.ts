/**
 * The process group that a claim records. After a SIGKILL of this process the next holder waits
 * until that group is gone, or for the TTL. So no orphan runs beside the next holder.
 */
import { lookUp } from './processes.js'

export interface RecordedGroup {
  readonly pgid: number
  /** When the group's leader started; empty when only other members live. */
  readonly startTime: string
}

/** Returns the group of a process. Undefined when the process is gone. */
export function groupOf(pid: number): RecordedGroup | undefined {
  const member = lookUp(pid)
  if (member === undefined) return undefined
  const leader = member.pgid === pid ? member : lookUp(member.pgid)
  return { pgid: member.pgid, startTime: leader?.startTime ?? '' }
}
