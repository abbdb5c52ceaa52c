/** Makes folders and files with their modes, and for the user whose folder they are in. */
import {
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
import { dirname } from 'node:path'
import { systemRandom } from '../../../clock/clock.js'
import type { StateFolder } from './state-folder.js'

export function makeFolder(path: string, mode: number): void {
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
export function takeOver(fd: number, path: string, mode: number): void {
  fchmodSync(fd, mode)
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  if (uid !== 0 && fstatSync(fd).uid === 0) fchownSync(fd, uid, gid)
}

/**
 * Makes the database with the rights that it is to have, before SQLite makes it readable for all.
 * Its log or journal gets the same rights. In the folder for all users root has made it.
 */
export function makeDatabaseFile(path: string, { kind }: StateFolder): void {
  refuseLink(path)
  // The folder beside a path lets only those in who take part.
  if (kind !== 'system') makeFile(path, kind === 'own' ? 0o600 : 0o666)
}

/**
 * SQLite would make the file that the link names. In a folder that all may write to, another user
 * could choose it.
 */
function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    throw new Error(`${path} is a link, and must be a file`)
}

/** The names of files that were not finished. */
export const UNFINISHED_FILE = /^locks.*\.db(?:-journal)?\.[\w-]{8,}$/

/**
 * Makes an empty file where there is none. An existing file is never opened. By the rules of POSIX
 * a process that closes any descriptor of a file loses all its locks on it, those of other threads
 * included. For that reason the new one is closed before it has its name.
 */
export function makeFile(path: string, mode: number): void {
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
