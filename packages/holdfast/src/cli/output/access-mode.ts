import { readFileSync } from 'node:fs'

/** O_ACCMODE of open(2). */
const ACCESS_MODE = 3

/** Returns O_RDONLY, O_WRONLY or O_RDWR; undefined where the system does not show that. */
export function accessMode(fd: number): number | undefined {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')
    const flags = /^flags:\s+(\d+)$/m.exec(info)?.[1]
    return flags === undefined ? undefined : Number.parseInt(flags, 8) & ACCESS_MODE
  } catch {
    return undefined
  }
}
