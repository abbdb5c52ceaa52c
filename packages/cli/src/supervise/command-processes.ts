/**
 * The target of a signal: the command and all its processes.
 *
 * Without a terminal the command leads a session and a process group of its own, and one call
 * reaches all of it. With a terminal it must stay in the foreground group, or Ctrl-C, Ctrl-Z and
 * password prompts would not work. That group also has the wrapper and the rest of the pipeline, so
 * there the target is the descendants.
 */
import { familyOf, isAlive, listProcesses, lookUp, type ProcessInfo } from './processes.js'

export type Target =
  | { readonly kind: 'group'; readonly id: number; readonly startTime: string }
  | { readonly kind: 'tree'; readonly id: number; readonly startTime: string }

/** Sends a signal that the processes may handle. Processes that are gone are no error. */
export function signalAll(target: Target, signal: NodeJS.Signals): void {
  if (target.kind === 'group') send(-target.id, signal)
  else for (const member of familyOf(target.id)) send(member.pid, signal)
}

/** Sends a signal to the command alone, for signals that are messages rather than orders. */
export function signalCommand(target: Target, signal: NodeJS.Signals): void {
  send(target.id, signal)
}

/**
 * Whether processes of the target can outlive the command. The kernel does not reuse a group's
 * number while the group lives; a leader with another start time belongs to another group.
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

/** Kills all processes of the target. */
export function killAll(target: Target): void {
  if (target.kind === 'group') send(-target.id, 'SIGKILL')
  else for (const member of freeze(target)) send(member.pid, 'SIGKILL')
}

/**
 * Stops every process of a tree before any of it is killed. A parent that dies first would leave
 * its children to init, where no look finds them. A running process could fork between the look and
 * the kill; a stopped one cannot. So this stops what a look finds, and looks again until nothing is
 * new.
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
 * A tree that still grows after this many looks forks faster than this can stop it; then the known
 * processes are killed.
 */
const MAX_ROUNDS = 20

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal)
  } catch {
    // ESRCH: it is gone. EPERM: it runs as another user (sudo), and only that user can end it.
  }
}
