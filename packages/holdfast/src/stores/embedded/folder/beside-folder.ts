/**
 * The state folder beside a locked path: `.holdfast`, in the folder of that path.
 *
 * All processes that share the path share this folder, also with other users, homes and mounts. A
 * user who may write to the folder around it may take part, so its mode follows that folder. It
 * alone decides which users get in: all may write to the files in it.
 *
 * Each boot has a folder of its own in it. So a power failure damages no file that is used again,
 * and no grant has to wait for the disk.
 */
import { createHash } from 'node:crypto'
import { closeSync, lstatSync, readlinkSync, statSync, type BigIntStats } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isLockError } from '../../../errors.js'
import { refuseNetwork } from './file-systems.js'
import { UNNAMED_BOOT, type Machine } from './machine.js'
import { makeBeside, makeContents } from './make-beside.js'
import { socketFolder } from './socket-folder.js'
import type { StateFolder } from './state-folder.js'
import { unusable } from './unusable.js'

/** A folder of this name is always one beside a path. */
export const BESIDE = '.holdfast'
/** Longer than it takes to make the folder. */
const MAKING_MS = 1000
/** The folder of all boots, where they have no names. */
const ANY_BOOT = 'any'

/**
 * Returns the folder by its path, which has to stay while the folder is in use.
 * @param path ends in `.holdfast`
 */
export function besideFolder(path: string, machine: Machine): StateFolder {
  return at(join(path, bootFolder(machine)))
}

function at(directory: string, root = directory): StateFolder {
  return {
    directory,
    kind: 'beside',
    root,
    sockets: socketFolder(root),
    layout: join(root, 'locks.db'),
    shared: true,
    perBoot: basename(directory) !== ANY_BOOT,
  }
}

function bootFolder({ bootId }: Machine): string {
  if (bootId === UNNAMED_BOOT) return ANY_BOOT
  return createHash('sha256').update(bootId).digest('hex').slice(0, 16)
}

/**
 * Makes the folder where it is missing, and opens it. Where Linux shows open files, the store uses
 * it through its descriptor. Then the folder may be renamed, and its path may be too long for
 * sockets.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when this user cannot use it.
 */
export function openBeside(parent: string, machine: Machine): StateFolder {
  const folder = besideFolder(join(parent, BESIDE), machine)
  try {
    refuseNetwork(parent, parent, machine)
    const { fd, path } = makeBeside(folder.directory)
    if (fd === undefined) return folder
    if (path !== undefined) return { ...at(folder.directory, path), close: () => closeSync(fd) }
    closeSync(fd)
    return folder
  } catch (error) {
    throw isLockError(error) ? error : unusable(folder, error)
  }
}

/** Whether any process has made the state folder in a folder. */
export function hasBeside(parent: string): boolean {
  return lstatSync(join(parent, BESIDE), { throwIfNoEntry: false }) !== undefined
}

/**
 * Returns what identifies the state folder in a folder. Undefined where there is none, and where
 * opening it reports what is wrong with it.
 */
export function findBeside(parent: string, machine: Machine): string | undefined {
  const { directory } = besideFolder(join(parent, BESIDE), machine)
  try {
    if (!lstatSync(dirname(directory)).isDirectory()) return undefined
    return identityOf(lstatSync(directory, { bigint: true }))
  } catch {
    return undefined
  }
}

/** Returns what identifies an open state folder. */
export function keyOf({ root }: StateFolder): string {
  return identityOf(statSync(root, { bigint: true }))
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

/**
 * Whether the folder was made just now, perhaps by another user's process that has not let the
 * others in yet.
 */
export function isBeingMade(parent: string, machine: Machine): boolean {
  const found = lstatSync(join(parent, BESIDE), { throwIfNoEntry: false })
  return found !== undefined && Math.abs(machine.wallMs() - found.ctimeMs) < MAKING_MS
}

/** Makes what is missing of the folder. Throws when it cannot be used. */
export function prepareBeside(folder: StateFolder, machine: Machine): void {
  const { root, directory } = folder
  if (root !== directory) {
    if (statSync(root).nlink === 0) throw new Error('it was deleted while this process used it')
    makeContents(root)
    return
  }
  const parent = dirname(dirname(directory))
  refuseNetwork(parent, parent, machine)
  const { fd } = makeBeside(directory)
  if (fd !== undefined) closeSync(fd)
}

/**
 * Returns where the files are now. SQLite opens the journal of a database by the path that it
 * found, and refuses to write once the database has another one.
 */
export function placeOf({ root, directory }: StateFolder): string {
  return root === directory ? directory : readlinkSync(root)
}
