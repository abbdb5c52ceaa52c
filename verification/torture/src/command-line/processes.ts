/** Processes of this machine, as the kernel shows them. Linux only. */
import { readdirSync, readFileSync } from 'node:fs'

/** A process that a later one with the same number is not taken for. */
export interface ProcessName {
  readonly pid: number
  readonly startTime: string
}

export function nameOf(pid: number): ProcessName | undefined {
  const stat = read(`/proc/${pid}/stat`)
  // The name in it can hold blanks and brackets, so that the fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields[0], fields[19]]
  if (startTime === undefined || state === 'Z' || state === 'X') return undefined
  return { pid, startTime }
}

export function isThere({ pid, startTime }: ProcessName): boolean {
  return nameOf(pid)?.startTime === startTime
}

export function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

export function commandLineOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

/** Live processes in whose environment a text stands. */
export function processesWith(text: string): ProcessName[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).includes(text))
    .map((name) => nameOf(Number(name)))
    .filter((found) => found !== undefined)
}

/**
 * Sends a signal to a process, or to a group when the number is negative. Returns whether a process
 * was there.
 */
export function send(id: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(id, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Empty when the process is gone, or belongs to another user. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
