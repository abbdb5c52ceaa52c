/**
 * The process group that works under a claim, as the claim records it. After a SIGKILL of this
 * process the store's next holder waits until that group is gone (or for the TTL), so that no
 * orphan works on beside it.
 */
import { lookUp } from './processes.js'

export interface RecordedGroup {
  readonly pgid: number
  /**
   * When the group's leader started; empty when the leader is gone already and only the others
   * live.
   */
  readonly startTime: string
}

/** The group that a process belongs to. Undefined when the process is gone. */
export function groupOf(pid: number): RecordedGroup | undefined {
  const member = lookUp(pid)
  if (member === undefined) return undefined
  const leader = member.pgid === pid ? member : lookUp(member.pgid)
  return { pgid: member.pgid, startTime: leader?.startTime ?? '' }
}
