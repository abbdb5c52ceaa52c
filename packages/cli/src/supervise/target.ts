/**
 * What a signal is sent to: the command and everything that works for it.
 *
 * Without a terminal the command leads a session and a process group of its own, and one call
 * reaches all of it. With a terminal it must stay in the foreground group, or Ctrl-C, Ctrl-Z and
 * password prompts would not work; that group also holds us, and whatever else stands in the
 * pipeline, so there the descendants are looked up instead.
 */
import { familyOf, isAlive, listProcesses, lookUp, type ProcessInfo } from './processes.js'

export type Target =
  | { readonly kind: 'group'; readonly id: number; readonly startTime: string }
  | { readonly kind: 'tree'; readonly id: number; readonly startTime: string }

/** Sends a signal that the processes may handle. Those that are gone are no error. */
export function signalAll(target: Target, signal: NodeJS.Signals): void {
  if (target.kind === 'group') send(-target.id, signal)
  else for (const member of familyOf(target.id)) send(member.pid, signal)
}

/** Sends a signal to the command alone, for signals that are messages rather than orders. */
export function signalCommand(target: Target, signal: NodeJS.Signals): void {
  send(target.id, signal)
}

/**
 * Whether what the target names can be ours yet when the command itself has ended. The number of a
 * group is not given away while the group lives; a leader with another start time is a stranger's.
 */
export function mayOutlive({ kind, id, startTime }: Target): boolean {
  if (kind === 'tree') return false
  const leader = lookUp(id)
  return leader === undefined || leader.startTime === startTime
}

export function membersOf(target: Target): ProcessInfo[] {
  if (target.kind === 'tree') return familyOf(target.id)
  return listProcesses().filter((found) => found.pgid === target.id)
}

/** Ends all of it for good. */
export function killAll(target: Target): void {
  if (target.kind === 'group') send(-target.id, 'SIGKILL')
  else for (const member of freeze(target)) send(member.pid, 'SIGKILL')
}

/**
 * Stops every process of a tree before any of it is killed. A parent that dies first would hand its
 * children to init, out of our sight, and one that still runs could fork between the look and the
 * kill; a stopped one cannot. So: stop what is seen, look again, until a look finds nothing new.
 */
function freeze(target: Target): ProcessInfo[] {
  const frozen = new Map<number, ProcessInfo>()
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = familyOf(target.id).filter((member) => !frozen.has(member.pid))
    if (found.length === 0) break
    for (const member of found) {
      send(member.pid, 'SIGSTOP')
      frozen.set(member.pid, member)
    }
  }
  return [...frozen.values()].filter((member) => isAlive(member.pid, member.startTime))
}

/**
 * A tree that still grows after so many looks forks faster than we can stop it; then kill what is
 * known.
 */
const MAX_ROUNDS = 20

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal)
  } catch {
    // ESRCH: it is gone. EPERM: it took another user's rights (sudo), and only that user can end
    // it.
  }
}
