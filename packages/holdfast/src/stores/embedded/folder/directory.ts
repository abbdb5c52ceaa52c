/** The folder that holds the state: where it is, and whether it will do. */
import { accessSync, chmodSync, constants, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { isLockError, LockUsageError, StoreUnavailableError } from '../../../errors.js'
import { BESIDE, besideFolder, prepareBeside } from './beside-folder.js'
import { refuseNetwork } from './file-systems.js'
import type { Machine } from './machine.js'
import { makeFile, makeFolder } from './make-files.js'
import { databaseFiles, type StateFolder } from './state-folder.js'
import { checkTemporary, socketFolder } from './socket-folder.js'
import { unusable } from './unusable.js'

/** One folder for all users of the machine. */
export const SYSTEM_DIRECTORY = '/var/lib/holdfast'

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
  // All processes must open such a folder alike, however they named it.
  if (basename(path) === BESIDE) return besideFolder(path, machine)
  const kind = path === common ? 'system' : 'own'
  return {
    directory: path,
    kind,
    root: path,
    sockets: socketFolder(path),
    layout: join(path, 'locks.db'),
    shared: kind === 'system',
    perBoot: false,
  }
}

/** Makes the folders where they are missing, and checks that SQLite and sockets can work there. */
export function prepareFolder(folder: StateFolder, machine: Machine): void {
  try {
    if (folder.kind === 'beside') prepareBeside(folder, machine)
    else if (folder.kind === 'system') prepareShared(folder)
    else for (const path of [folder.directory, folder.sockets]) makeFolder(path, 0o700)
    // Another user may have made it since it was chosen.
    if (dirname(folder.sockets) !== folder.root) checkTemporary(folder.sockets, folder.directory)
  } catch (error) {
    throw isLockError(error) ? error : unusable(folder, error)
  }
  refuseNetwork(folder.root, folder.directory, machine)
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
