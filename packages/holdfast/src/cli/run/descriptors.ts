/** `--keep-fd`: descriptors that the command inherits beside stdin, stdout and stderr. */
import { fstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { UsageError } from '../cli-error.js'
import { GATE_FDS } from '../supervise/command-gate.js'

/** The most that a program has without asking for more. */
const MOST = 1024

/** @throws UsageError for a descriptor that this process did not inherit, as far as that shows */
export function descriptorsOf(text: string | undefined): number[] {
  if (text === undefined) return []
  const fds = text.split(',').map((part) => (/^\d{1,4}$/.test(part) ? Number(part) : 0))
  const wrong = fds.some((fd) => fd < 3 || fd >= MOST)
  if (wrong || GATE_FDS.every((fd) => fds.includes(fd))) {
    throw new UsageError(
      `--keep-fd ${JSON.stringify(text)} must be numbers from 3 on, such as 3,4, and not all from 3 to 9.`,
    )
  }
  for (const fd of fds) assertInherited(fd)
  return [...new Set(fds)]
}

/** Node opens files of its own at the start, and takes the first numbers that are free. */
function assertInherited(fd: number): void {
  try {
    fstatSync(fd, { bigint: true })
    const file = readlinkSync(`/proc/self/fd/${fd}`)
    if (!file.startsWith('anon_inode:') && !isPipeOfNode(fd, file)) return
  } catch (error) {
    // Without /proc an open descriptor is taken for an inherited one.
    if ((error as NodeJS.ErrnoException).code !== 'EBADF' && process.platform !== 'linux') return
  }
  throw new UsageError(
    `--keep-fd ${fd}: this descriptor is not open. Open it in the calling shell.`,
  )
}

/** The bits of `open(2)` for the direction, and the one that closes a file in a new program. */
const [ACCESS, CLOSE_ON_EXEC] = [0o3, 0o2000000]
const [READ, WRITE] = [0, 1]

/**
 * Node talks to itself over pipes, of which this process has both ends. So it has of the jobserver
 * of `make`, but the process that started it has that pipe too.
 */
function isPipeOfNode(fd: number, file: string): boolean {
  if (!file.startsWith('pipe:')) return false
  const flags = flagsOf(fd)
  // Node marks inherited descriptors too, but only the first ones.
  if ((flags & CLOSE_ON_EXEC) === 0) return false
  const otherEnd = (flags & ACCESS) === READ ? WRITE : READ
  const hasBoth = fdsOf('self').some(
    (one) => fileOf('self', one) === file && (flagsOf(Number(one)) & ACCESS) === otherEnd,
  )
  return hasBoth && !isOpenIn(process.ppid, file)
}

/** Whether a process has a pipe. One that this user may not look into may have it. */
function isOpenIn(pid: number, pipe: string): boolean {
  try {
    return fdsOf(pid).some((fd) => fileOf(pid, fd) === pipe)
  } catch {
    return true
  }
}

function fdsOf(pid: number | 'self'): string[] {
  return readdirSync(`/proc/${pid}/fd`)
}

/** Undefined for a descriptor that was closed meanwhile, as the one that lists them is. */
function fileOf(pid: number | 'self', fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`)
  } catch {
    return undefined
  }
}

function flagsOf(fd: number): number {
  const [, flags = '0'] =
    /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? []
  return Number.parseInt(flags, 8)
}
