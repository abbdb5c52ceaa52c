/** `--keep-fd`: descriptors that the command inherits beside stdin, stdout and stderr. */
import { fstatSync, readlinkSync } from 'node:fs'
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
    if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith('anon_inode:')) return
  } catch (error) {
    // Without /proc an open descriptor is taken for an inherited one.
    if ((error as NodeJS.ErrnoException).code !== 'EBADF' && process.platform !== 'linux') return
  }
  throw new UsageError(
    `--keep-fd ${fd}: this descriptor is not open. Open it in the calling shell.`,
  )
}
