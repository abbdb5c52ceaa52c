/**
 * The folder that holds the state: where it is, whether it will do, and where the sockets of its
 * processes go.
 */
import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs'
import { devNull, homedir, tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { systemRandom } from '../../../clock/clock.js'
import { isLockError, LockUsageError, StoreUnavailableError } from '../../../errors.js'
import { fileSystemType, networkFileSystem } from './file-systems.js'
import type { Machine } from './machine.js'

/** One folder for all users of the machine. */
export const SYSTEM_DIRECTORY = '/var/lib/holdfast'
/** Node 20 cuts longer socket paths silently at 107 bytes, and two cut ones can be the same. */
const LONGEST_SOCKET_PATH = 100
/** Longer than `/` and the name of a socket. */
const SOCKET_NAME_BYTES = 20

/**
 * The state folder of the user who runs this process.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when that user has no home folder.
 */
export function defaultDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const { platform } = process
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homeFolder(), 'AppData', 'Local'), 'holdfast')
  if (platform === 'darwin') return join(homeFolder(), 'Library', 'Application Support', 'holdfast')
  const state = env['XDG_STATE_HOME']
  return join(
    state !== undefined && state.startsWith('/') ? state : join(homeFolder(), '.local', 'state'),
    'holdfast',
  )
}

/** A relative one would be another folder for each program. */
function homeFolder(): string {
  let cause: unknown
  try {
    const home = homedir()
    if (isAbsolute(home)) return home
  } catch (error) {
    cause = error
  }
  throw new StoreUnavailableError(
    'The user of this process has no home folder to keep locks in. Set HOME, or give the store a directory.',
    { code: 'STORE_CONFIG', store: 'embedded', cause },
  )
}

/**
 * How many database files a folder has. A process that stops while it writes blocks the locks of
 * one file only.
 */
export const FILES = 8

export interface StateFolder {
  readonly directory: string
  /** Where the unix sockets of the processes are. */
  readonly sockets: string
  /** The file that says how the state is laid out. It holds no locks. */
  readonly layout: string
  /** Whether other users take part. */
  readonly shared: boolean
}

/** One database file of a folder. */
export interface DatabaseFile extends StateFolder {
  readonly database: string
}

/** The database files of a folder, in order. They need not exist yet. */
export function databaseFiles(folder: StateFolder): readonly DatabaseFile[] {
  return Array.from({ length: FILES }, (_, index) => ({
    ...folder,
    database: join(folder.directory, `locks-${index}.db`),
  }))
}

/**
 * The index of the file that keeps a lock: FNV-1a over the UTF-8 bytes of its name. Part of the
 * stored format.
 */
export function fileIndexOf(lock: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(lock)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0) % FILES
}

/** The folder as the options name it, not looked at yet. */
export function chooseFolder(
  options: { readonly directory?: string | undefined; readonly system?: boolean | undefined },
  machine: Machine,
): StateFolder {
  const { directory, system = false } = options
  // The text 'false' would count as true, and would not exclude users of their own folders.
  if (typeof system !== 'boolean') {
    throw new LockUsageError('The option system of embeddedStore must be true or false.', {
      store: 'embedded',
    })
  }
  if (directory !== undefined && system) {
    throw new LockUsageError('embeddedStore takes a directory or system: true, not both.', {
      store: 'embedded',
    })
  }
  if (
    directory !== undefined &&
    (typeof directory !== 'string' || directory === '' || directory.includes('\0'))
  ) {
    throw new LockUsageError('The directory of embeddedStore must be a path.', {
      store: 'embedded',
    })
  }
  const common = machine.systemDirectory ?? SYSTEM_DIRECTORY
  const path = resolve(system ? common : (directory ?? defaultDirectory()))
  // All users must open the common folder alike, whether they named it or not.
  const shared = path === common
  return { directory: path, sockets: socketFolder(path), layout: join(path, 'locks.db'), shared }
}

/** Makes the folders where they are missing, and checks that SQLite and sockets can work there. */
export function prepareFolder(folder: StateFolder, machine: Machine): void {
  try {
    if (folder.shared) prepareShared(folder)
    else for (const path of [folder.directory, folder.sockets]) makeFolder(path, 0o700)
    // Another user may have made it since it was chosen.
    if (dirname(folder.sockets) !== folder.directory)
      checkTemporary(folder.sockets, folder.directory)
  } catch (error) {
    throw isLockError(error) ? error : unusable(folder, error)
  }
  const network = networkFileSystem(
    machine.fileSystemType?.(folder.directory) ?? fileSystemType(folder.directory),
  )
  if (network !== undefined) {
    throw new StoreUnavailableError(
      `The folder ${folder.directory} is on a network file system (${network}), where SQLite cannot keep locks. ` +
        'Choose a folder on a local disk, or a store with a server for several machines.',
      { code: 'STORE_CONFIG', store: 'embedded' },
    )
  }
}

/** A typed error for a folder or file that cannot be used, saying what to do. */
export function unusable(folder: StateFolder, cause: unknown): StoreUnavailableError {
  if (isShortOfFiles()) {
    return new StoreUnavailableError(
      `The state folder ${folder.directory} cannot be used: this process can open no more files. ` +
        'Raise the limit (ulimit -n), or close some.',
      { store: 'embedded', cause },
    )
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  const advice = folder.shared
    ? 'The folder for all users is made by root: run "holdfast doctor --system" as root once.'
    : 'Make the folder writable for this user, or choose another one.'
  return new StoreUnavailableError(
    `The state folder ${folder.directory} cannot be used: ${reason}. ${advice}`,
    {
      code: 'STORE_CONFIG',
      store: 'embedded',
      cause,
    },
  )
}

/** The database, its log, the index of the log, and the folder. */
const FILES_OF_DATABASE = 4

/** SQLite does not tell a shortage of descriptors from a file that it may not open. */
function isShortOfFiles(): boolean {
  const opened: number[] = []
  try {
    for (let count = 0; count < FILES_OF_DATABASE; count += 1) opened.push(openSync(devNull, 'r'))
    return false
  } catch (error) {
    return ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

function makeFolder(path: string, mode: number): void {
  if (!statSync(path, { throwIfNoEntry: false })) makeWithThoseAbove(path, mode)
  if (!statSync(path).isDirectory()) throw new Error(`${path} is not a folder`)
}

/**
 * Makes a folder and those above it, one by one. Node's `recursive` option loops forever where a
 * folder is refused as if there were none above it, as in /proc. On a read-only file system it
 * reports "no such file".
 */
function makeWithThoseAbove(path: string, mode: number): void {
  const above = dirname(path)
  if (above !== path && !statSync(above, { throwIfNoEntry: false })) makeWithThoseAbove(above, mode)
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  // Windows opens no folders, and has no such modes.
  if (process.platform === 'win32') return
  const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY } = constants
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY)
  try {
    takeOver(fd, path, mode)
  } finally {
    closeSync(fd)
  }
}

/**
 * Gives a new file or folder its mode, which the process may mask. What root makes in a folder of
 * another user belongs to that user, who could not use the locks afterwards: sudo can keep HOME.
 */
function takeOver(fd: number, path: string, mode: number): void {
  fchmodSync(fd, mode)
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  if (uid !== 0 && fstatSync(fd).uid === 0) fchownSync(fd, uid, gid)
}

/**
 * Makes the database readable for its owner alone, before SQLite makes it readable for all. Its log
 * gets the same rights.
 */
export function makeDatabaseFile(path: string, { shared }: StateFolder): void {
  refuseLink(path)
  if (!shared) makeFile(path, 0o600)
}

/**
 * SQLite would make the file that the link names. In a folder that all may write to, another user
 * could choose it.
 */
function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    throw new Error(`${path} is a link, and must be a file`)
}

/**
 * Makes an empty file where there is none. An existing file is never opened. By the rules of POSIX
 * a process that closes any descriptor of a file loses all its locks on it, those of other threads
 * included. For that reason the new one is closed before it has its name.
 */
function makeFile(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })) return
  const unnamed = `${path}.${systemRandom.id()}`
  try {
    const fd = openSync(unnamed, 'wx', mode)
    try {
      takeOver(fd, unnamed, mode)
    } finally {
      closeSync(fd)
    }
    linkSync(unnamed, path)
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(unnamed, { force: true })
  }
}

/**
 * The files for all users are root's, and all may write to them. In a folder that all may write to,
 * Linux refuses to open a file that another user made (fs.protected_regular). So only sockets are
 * made there.
 */
function prepareShared(folder: StateFolder): void {
  const uid = process.getuid?.()
  const databases = [folder.layout, ...databaseFiles(folder).map(({ database }) => database)]
  const files = databases.flatMap((path) => [path, `${path}-journal`])
  if (uid === undefined || uid === 0) {
    makeFolder(folder.directory, 0o755)
    // Like /tmp: every user may add files, and remove only their own.
    makeFolder(folder.sockets, 0o1777)
    for (const file of files) {
      makeFile(file, 0o666)
      if ((statSync(file).mode & 0o777) !== 0o666) chmodSync(file, 0o666)
    }
  }
  for (const path of [folder.sockets, ...files]) accessSync(path, constants.R_OK | constants.W_OK)
}

/** Beside the database, or under the temporary folder when that path is too long for a socket. */
function socketFolder(directory: string): string {
  const beside = join(directory, 's')
  if (Buffer.byteLength(beside) + SOCKET_NAME_BYTES <= LONGEST_SOCKET_PATH) return beside
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `holdfast-${hash}`)
  checkTemporary(folder, directory)
  return folder
}

/** In a folder that all users may write to, the name may be a trap. */
function checkTemporary(folder: string, directory: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  const mine = process.getuid?.()
  if (
    found &&
    (!found.isDirectory() || (mine !== undefined && found.uid !== mine && found.uid !== 0))
  ) {
    throw new StoreUnavailableError(
      `${folder} belongs to another user, and ${directory} is too long a path for sockets. Choose a shorter directory.`,
      { code: 'STORE_CONFIG', store: 'embedded' },
    )
  }
}
