/**
 * Reads the processes of this machine: their parents, groups and start times.
 *
 * A process id alone identifies no process, since the system reuses ids. The pair of id and start
 * time does. On Linux both come from /proc, elsewhere from `ps`.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessInfo {
  readonly pid: number
  readonly ppid: number
  readonly pgid: number
  /** Its session; 0 where `ps` does not show it. */
  readonly session: number
  /**
   * In units of the operating system: clock ticks since the boot, or a date. Only for comparing.
   */
  readonly startTime: string
  readonly zombie: boolean
}

const HAS_PROC = process.platform === 'linux'

/** Returns one process, or undefined when it is gone or hidden from this user. */
export function lookUp(pid: number): ProcessInfo | undefined {
  return HAS_PROC ? fromProc(pid) : fromPs(['-p', String(pid)])[0]
}

/** Whether the process that started at `startTime` still runs. A zombie does not run. */
export function isAlive(pid: number, startTime: string): boolean {
  const found = lookUp(pid)
  return found !== undefined && found.startTime === startTime && !found.zombie
}

export function listProcesses(): ProcessInfo[] {
  if (!HAS_PROC) return fromPs(['-A'])
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => fromProc(Number(name)))
    .filter((found) => found !== undefined)
}

/** Returns these processes and all their descendants, parents before their children. */
export function familyOf(...pids: readonly number[]): ProcessInfo[] {
  const byParent = new Map<number, ProcessInfo[]>()
  const family = new Set<ProcessInfo>()
  for (const found of listProcesses()) {
    if (pids.includes(found.pid)) family.add(found)
    const siblings = byParent.get(found.ppid)
    if (siblings) siblings.push(found)
    else byParent.set(found.ppid, [found])
  }
  // The set grows during the loop, which is the walk. A process occurs once, so the loop ends.
  for (const member of family) for (const child of byParent.get(member.pid) ?? []) family.add(child)
  return [...family]
}

/**
 * Whether a process began with this text in its environment, or descends from one that did. False
 * where the environment cannot be read: of another user's processes, and without /proc.
 */
export function hasInEnvironment(pid: number, text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(text)
  } catch {
    return false
  }
}

function fromProc(pid: number): ProcessInfo | undefined {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    // The process ended after the listing.
    return undefined
  }
}

/**
 * Reads one /proc/PID/stat. The name in it can hold blanks and brackets, so the fields are counted
 * from its end.
 */
export function parseProcStat(stat: string): ProcessInfo | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, ppid, pgid, session] = fields
  const startTime = fields[19]
  if (state === undefined || ppid === undefined || pgid === undefined || startTime === undefined)
    return undefined
  return {
    pid: Number.parseInt(stat, 10),
    ppid: Number(ppid),
    pgid: Number(pgid),
    session: Number(session),
    startTime,
    zombie: state === 'Z' || state === 'X',
  }
}

function fromPs(selection: string[]): ProcessInfo[] {
  const columns = ['-o', 'pid=', '-o', 'ppid=', '-o', 'pgid=', '-o', 'stat=', '-o', 'lstart=']
  try {
    const env = { ...process.env, LC_ALL: 'C' }
    return execFileSync('ps', [...selection, ...columns], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env,
    })
      .split('\n')
      .map(parsePsLine)
      .filter((found) => found !== undefined)
  } catch {
    // `ps -p` exits with 1 when the process is gone.
    return []
  }
}

/** Reads one line of `ps -o pid=,ppid=,pgid=,stat=,lstart=`. */
export function parsePsLine(line: string): ProcessInfo | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line)
  if (!match) return undefined
  const [, pid, ppid, pgid, stat = '', startTime = ''] = match
  return {
    pid: Number(pid),
    ppid: Number(ppid),
    pgid: Number(pgid),
    session: 0,
    startTime,
    zombie: stat.startsWith('Z'),
  }
}
