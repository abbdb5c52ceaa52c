/**
 * The folder that holds the state: where it is, whether it will do, and where the sockets of its processes go.
 */
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, statfsSync, statSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LockUsageError, StoreUnavailableError } from '../../errors.js'
import type { Machine } from './machine.js'

/** One folder for all users of the machine. */
export const SYSTEM_DIRECTORY = '/var/lib/holdfast'
/** Node 20 cuts longer socket paths silently at 107 bytes, and two cut ones can be the same. */
const LONGEST_SOCKET_PATH = 100
/** Longer than `/` and the name of a socket. */
const SOCKET_NAME_BYTES = 20

/** The state folder of the user who runs this process. */
export function defaultDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const { platform } = process
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'holdfast')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'holdfast')
  const state = env['XDG_STATE_HOME']
  return join(
    state !== undefined && state.startsWith('/') ? state : join(homedir(), '.local', 'state'),
    'holdfast',
  )
}

export interface Place {
  readonly directory: string
  /** Where the unix sockets of the processes are. */
  readonly sockets: string
  readonly database: string
  /** Whether other users take part. */
  readonly shared: boolean
}

/** The folder as the options name it, not looked at yet. */
export function choosePlace(options: { readonly directory?: string; readonly system?: boolean }): Place {
  const { directory, system = false } = options
  if (directory !== undefined && system) {
    throw new LockUsageError('embeddedStore takes a directory or system: true, not both.', {
      store: 'embedded',
    })
  }
  if (
    directory !== undefined &&
    (typeof directory !== 'string' || directory === '' || directory.includes('\0'))
  ) {
    throw new LockUsageError('The directory of embeddedStore must be a path.', { store: 'embedded' })
  }
  const path = resolve(system ? SYSTEM_DIRECTORY : (directory ?? defaultDirectory()))
  return { directory: path, sockets: socketFolder(path), database: join(path, 'locks.db'), shared: system }
}

/** Makes the folders where they are missing, and checks that SQLite and sockets can work there. */
export function preparePlace(place: Place, machine: Machine): void {
  try {
    makeFolder(place.directory, place.shared)
    makeFolder(place.sockets, place.shared)
  } catch (error) {
    throw unusable(place, error)
  }
  const network = NETWORK_FILE_SYSTEMS.get(
    machine.fileSystemType?.(place.directory) ?? typeOf(place.directory),
  )
  if (network !== undefined) {
    throw new StoreUnavailableError(
      `The folder ${place.directory} is on a network file system (${network}), where SQLite cannot keep locks. ` +
        'Choose a folder on a local disk, or a store with a server for several machines.',
      { code: 'STORE_CONFIG', store: 'embedded' },
    )
  }
}

/** A typed error for a folder or file that cannot be used, saying what to do. */
export function unusable(place: Place, cause: unknown): StoreUnavailableError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const code = (cause as NodeJS.ErrnoException | null)?.code
  const advice =
    place.shared && (code === 'EACCES' || code === 'ENOENT' || code === 'EPERM')
      ? 'The folder for all users is made by root: run any holdfast command with --system as root once.'
      : 'Make the folder writable for this user, or choose another one.'
  return new StoreUnavailableError(
    `The state folder ${place.directory} cannot be used: ${reason}. ${advice}`,
    {
      code: 'STORE_CONFIG',
      store: 'embedded',
      cause,
    },
  )
}

function makeFolder(path: string, shared: boolean): void {
  const made = mkdirSync(path, { recursive: true, mode: shared ? 0o755 : 0o700 })
  // Like /tmp: everybody may add to it, and nobody may take away what is another's.
  if (made !== undefined && shared) chmodSync(path, 0o1777)
  const stats = statSync(path)
  if (!stats.isDirectory()) throw new Error(`${path} is not a folder`)
}

/** Beside the database, or under the temporary folder when that path is too long for a socket. */
function socketFolder(directory: string): string {
  const beside = join(directory, 's')
  if (Buffer.byteLength(beside) + SOCKET_NAME_BYTES <= LONGEST_SOCKET_PATH) return beside
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `holdfast-${hash}`)
  // In a folder that all may write to, the name may be somebody's trap.
  const found = lstatSync(folder, { throwIfNoEntry: false })
  const mine = process.getuid?.()
  if (found && (!found.isDirectory() || (mine !== undefined && found.uid !== mine && found.uid !== 0))) {
    throw new StoreUnavailableError(
      `${folder} belongs to somebody else, and ${directory} is too long a path for sockets. Choose a shorter directory.`,
      { code: 'STORE_CONFIG', store: 'embedded' },
    )
  }
  return folder
}

const NETWORK_FILE_SYSTEMS = new Map<number, string>([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x0bd00bd0, 'Lustre'],
  [0x65735546, 'FUSE'],
])

const LOCAL_FILE_SYSTEMS = new Map<number, string>([
  [0xef53, 'ext4'],
  [0x58465342, 'XFS'],
  [0x9123683e, 'Btrfs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlayfs'],
  [0x2fc12fc1, 'ZFS'],
  [0xf2f52010, 'F2FS'],
])

/** The kind of file system, in words. */
export function fileSystemName(path: string): string {
  const type = typeOf(path)
  return NETWORK_FILE_SYSTEMS.get(type) ?? LOCAL_FILE_SYSTEMS.get(type) ?? `type 0x${type.toString(16)}`
}

function typeOf(path: string): number {
  return statfsSync(path).type >>> 0
}
