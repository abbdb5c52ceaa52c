/** What went wrong with a file of the folder, and what that means for its users. */
import { accessSync, constants } from 'node:fs'
import { LockError, StoreUnavailableError } from '../../../errors.js'
import type { StateFolder } from '../folder/state-folder.js'
import { shownIn, unusable } from '../folder/unusable.js'
import {
  BUSY,
  CANNOT_OPEN,
  CORRUPT,
  FULL,
  IO_ERROR,
  LOCKED,
  NOT_A_DATABASE,
  resultCode,
  SHORT_READ,
} from './engine.js'

/** Whether another process has the file locked, so that the call may be repeated. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === BUSY || code === LOCKED
}

/** Returns what went wrong with a file of the folder as a typed error that says what to do. */
export function explain(error: unknown, folder: StateFolder, opened: string): LockError {
  if (error instanceof LockError) return error
  const path = shownIn(folder, opened)
  const code = resultCode(error)
  if (code === NOT_A_DATABASE || code === CORRUPT) {
    return new StoreUnavailableError(
      `${path} is not a database of Holdfast, or it is damaged. Move the file away; a new one is made at once.`,
      { code: 'STORE_CONFIG', store: 'embedded', cause: error },
    )
  }
  if ((error as { errcode?: unknown } | null)?.errcode === SHORT_READ) {
    return new StoreUnavailableError(
      `${path} lacks what its log counts on: it was deleted or replaced while programs used it. Try again, and ` +
        'delete nothing in that folder while programs use it.',
      { store: 'embedded', cause: error },
    )
  }
  if (code === CANNOT_OPEN && !isAccessible(opened)) {
    return new StoreUnavailableError(
      `This user may not read and write the file ${path}. Give the user that right, or choose another folder.`,
      { code: 'STORE_CONFIG', store: 'embedded', cause: error },
    )
  }
  // SQLite calls a full disk an I/O error where it cannot grow the index of its log.
  if (
    code === FULL ||
    code === IO_ERROR ||
    (error as NodeJS.ErrnoException | null)?.code === 'ENOSPC'
  ) {
    return new StoreUnavailableError(
      `The disk with ${folder.directory} is full, or it fails. Make room and try again.`,
      { store: 'embedded', cause: error },
    )
  }
  return unusable(folder, error)
}

/** Whether a file is there that this process may read and write. */
function isAccessible(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES'
  }
}
