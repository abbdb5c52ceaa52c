/**
 * Looks for processes of a test. A zombie counts as gone: a container may have no process that
 * waits for it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { eventually } from '@holdfast/servers/eventually'
import { killIfThere } from '@holdfast/servers/processes'
import { listProcesses, lookUp } from '../../../dist/cli/supervise/processes.js'

export function alive(pid: number): boolean {
  const found = lookUp(pid)
  return found !== undefined && !found.zombie
}

export function childrenOf(pid: number): number[] {
  return listProcesses()
    .filter((found) => found.ppid === pid && !found.zombie)
    .map((found) => found.pid)
}

/** How often one looks at all processes of the machine: each look reads hundreds of files. */
const LOOK = { everyMs: 25 }

/** Processes whose command line holds a text that only this test uses. */
export function withMark(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => alive(pid) && commandLine(pid).includes(mark))
}

export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** The one-letter state of a process (`T` is stopped), or nothing when it is gone. */
export function stateOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.charAt(stat.lastIndexOf(')') + 2)
  } catch {
    return ''
  }
}

/**
 * Stops a process, but not while it writes to a database: that would keep others from an eighth of
 * all locks until it continues.
 */
export async function stopBetweenWrites(pid: number): Promise<void> {
  for (;;) {
    process.kill(pid, 'SIGSTOP')
    await eventually('the process is stopped', () => stateOf(pid) === 'T')
    if (!writes(pid)) return
    process.kill(pid, 'SIGCONT')
  }
}

function writes(pid: number): boolean {
  const locks = readFileSync('/proc/locks', 'utf8').split('\n')
  return locks.some((lock) => lock.includes(` WRITE ${pid} `))
}

/**
 * A shell with a child that runs forever, so that there is a grandchild; both carry the mark in
 * their command lines. The child is no background job, since shells let those ignore SIGINT and
 * SIGQUIT. In a terminal it is to ignore hang-ups. The hang-up after the end of the session's
 * leader would hide the processes that the wrapper forgot to end.
 */
export function family(mark: string, ignored?: 'HUP'): string[] {
  const trap = ignored === undefined ? '' : `trap "" ${ignored}; `
  return [
    'sh',
    '-c',
    `sh -c '${trap}echo ready; while :; do sleep 0.05; done' ${mark}; exit 99`,
    mark,
  ]
}

/**
 * Waits until no process with the mark is left, except those named; ends them when the wait was in
 * vain.
 */
export async function gone(mark: string, except: readonly number[] = []): Promise<void> {
  const left = (): number[] => withMark(mark).filter((pid) => !except.includes(pid))
  try {
    await eventually('no process of the job is left', () => left().length === 0, LOOK)
  } finally {
    for (const pid of left()) killIfThere(pid, 'SIGKILL')
  }
}
