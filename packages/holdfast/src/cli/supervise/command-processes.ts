/**
 * The target of a signal: the command and all its processes.
 *
 * Without a terminal the command leads a session of its own, and all members of that session are
 * the target. Its group alone is not enough: `timeout` and shells with job control give what they
 * start a group of its own.
 *
 * With a terminal the command must stay in the foreground group, or Ctrl-C, Ctrl-Z and password
 * prompts would not work. That group also has the wrapper and the rest of the pipeline. So there
 * the target is the descendants of the command. It also includes the processes of the terminal's
 * session that have the claim of this run in their environment. A process whose parent ended
 * descends from init alone. A foreground group of its own (`set -m`) would stop a pager behind the
 * command (SIGTTIN), and with `stty tostop` any writer to the terminal. A script around the command
 * would also continue after Ctrl-C.
 */
import {
  familyOf,
  hasInEnvironment,
  isAlive,
  listProcesses,
  lookUp,
  type ProcessInfo,
} from './processes.js'

export type Target =
  | { readonly kind: 'session'; readonly id: number; readonly startTime: string }
  | {
      readonly kind: 'tree'
      readonly id: number
      readonly startTime: string
      readonly session: number
      /** A text that only the environment of the command has. */
      readonly mark: string
    }

/** Sends a signal that the processes may handle. Processes that are gone are no error. */
export function signalAll(target: Target, signal: NodeJS.Signals): void {
  if (target.kind === 'session') send(-target.id, signal)
  for (const { pid, pgid } of membersOf(target)) {
    if (target.kind === 'tree' || pgid !== target.id) send(pid, signal)
  }
}

/** Sends a signal to the command alone, for signals that are messages rather than orders. */
export function signalCommand(target: Target, signal: NodeJS.Signals): void {
  send(target.id, signal)
}

/**
 * Whether processes of the target can outlive the command. The kernel does not reuse a session's
 * number while the session lives; a leader with another start time belongs to another session.
 */
export function mayOutlive({ kind, id, startTime }: Target): boolean {
  if (kind === 'tree') return true
  const leader = lookUp(id)
  return leader === undefined || leader.startTime === startTime
}

export function membersOf(target: Target): ProcessInfo[] {
  const { id, startTime } = target
  if (target.kind === 'session')
    return listProcesses().filter(({ pgid, session }) => pgid === id || session === id)
  const marked = listProcesses().filter(
    ({ pid, session }) => session === target.session && hasInEnvironment(pid, target.mark),
  )
  const roots = marked.map(({ pid }) => pid)
  // A leader that is gone leaves its number to strangers.
  return familyOf(...(lookUp(id)?.startTime === startTime ? [id, ...roots] : roots))
}

/**
 * Kills all processes of the target, and stops each before any of it is killed. A parent that dies
 * first would leave its children to init, where no look finds them. A running process could fork
 * between the look and the kill; a stopped one cannot. So this stops what a look finds, and looks
 * again until nothing is new. The members of a session are found without their parents, so its
 * group goes at once: the lease may be about to end.
 */
export function killAll(target: Target): void {
  const frozen = new Map<number, ProcessInfo>()
  if (target.kind === 'session') send(-target.id, 'SIGKILL')
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = membersOf(target).filter(({ pid, zombie }) => !zombie && !frozen.has(pid))
    if (found.length === 0) break
    for (const member of found) {
      send(member.pid, 'SIGSTOP')
      frozen.set(member.pid, member)
    }
  }
  for (const { pid, startTime } of frozen.values()) {
    if (isAlive(pid, startTime)) send(pid, 'SIGKILL')
  }
}

/**
 * A target that still grows after this many looks forks faster than this can stop it; then the
 * known processes are killed.
 */
const MAX_ROUNDS = 20

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal)
  } catch {
    // ESRCH: it is gone. EPERM: it runs as another user (sudo), and only that user can end it.
  }
}
