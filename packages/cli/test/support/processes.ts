/** Looks for processes of a test. A zombie is gone: in a container nobody may be there to bury it. */
import { readdirSync, readFileSync } from 'node:fs'
import { listProcesses, lookUp } from '../../dist/supervise/processes.js'

export function alive(pid: number): boolean {
  const found = lookUp(pid)
  return found !== undefined && !found.zombie
}

export function childrenOf(pid: number): number[] {
  return listProcesses()
    .filter((found) => found.ppid === pid && !found.zombie)
    .map((found) => found.pid)
}

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
