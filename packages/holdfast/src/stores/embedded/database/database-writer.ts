/**
 * Which process holds the write lock of a database file, as Linux shows it. For error messages: a
 * guess never decides.
 */
import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename } from 'node:path'

export interface DatabaseWriter {
  readonly pid: number
  /** The name of its program's file. */
  readonly command: string
  /** SIGSTOP, a terminal's Ctrl-Z or a debugger. */
  readonly stopped: boolean
}

/**
 * SQLite's write lock in WAL mode: this byte of the `-shm` file.
 * https://sqlite.org/walformat.html#locks
 */
const WAL_WRITE_LOCK = 120n
/**
 * In other journal modes: the bytes from PENDING on, in the database itself.
 * https://sqlite.org/lockingv3.html
 */
const PENDING = 0x40000000n

/**
 * Returns the process that writes to the database now, where the system can say it. Undefined
 * elsewhere.
 */
export function writerOf(database: string): DatabaseWriter | undefined {
  try {
    const table = readFileSync('/proc/locks', 'utf8').split('\n')
    const path = realpathSync(database)
    return (
      find(table, `${path}-shm`, (from, to) => from <= WAL_WRITE_LOCK && WAL_WRITE_LOCK <= to) ??
      find(table, path, (from) => from >= PENDING)
    )
  } catch {
    // Another system, or /proc is hidden.
    return undefined
  }
}

/**
 * A line: `1: POSIX  ADVISORY  WRITE 1234 fd:00:5768 120 120`. A process that only waits has `->`
 * before its kind.
 */
function find(
  table: readonly string[],
  path: string,
  fits: (from: bigint, to: bigint) => boolean,
): DatabaseWriter | undefined {
  const inode = String(statSync(path, { bigint: true, throwIfNoEntry: false })?.ino)
  for (const line of table) {
    const [, type, , access, pid = '', file = '', from = '', to = ''] = line.split(/\s+/)
    if (type !== 'POSIX' || access !== 'WRITE' || file.split(':').at(-1) !== inode) continue
    const end = to === 'EOF' ? 1n << 63n : BigInt(to)
    // Inodes of two file systems can be equal, and the device is shown differently by some: the
    // open file decides.
    if (fits(BigInt(from), end) && Number(pid) > 0 && hasOpen(pid, path))
      return describe(Number(pid))
  }
  return undefined
}

function hasOpen(pid: string, path: string): boolean {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).some((name) => {
    try {
      return readlinkSync(`${folder}/${name}`) === path
    } catch {
      // Closed meanwhile.
      return false
    }
  })
}

function describe(pid: number): DatabaseWriter {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Not the name in `stat`, which is that of its main thread: "MainThread" from Node 24 on.
  const command = basename(readlinkSync(`/proc/${pid}/exe`))
  const state = stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
  return { pid, command, stopped: state === 'T' || state === 't' }
}
