/**
 * Where a socket is made, before it gets the name by which others find it.
 *
 * All users may reach the sockets of a shared folder, so each gets a mode. Node changes that of a
 * socket only by its path. In such a folder another user could replace the socket by a link, and so
 * choose the file whose mode changes. Beside a path the socket is made in a folder that no other
 * user may change.
 */
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import type { StateFolder } from '../folder/state-folder.js'

/** The names of sockets, and of folders of sockets, that were not finished. */
export const UNFINISHED_SOCKET = /^new-|\.new$/

export interface Birthplace {
  /** Where the socket is bound. */
  readonly path: string
  /** Lets all users connect to the socket. */
  openToAll(): void
  /** Removes what is left. */
  close(): void
}

/** Returns where the socket of this id is made. */
export function birthplaceOf(folder: StateFolder, id: string): Birthplace {
  // Elsewhere no path stays with an open folder.
  if (folder.kind === 'beside' && process.platform === 'linux') return privateBirthplace(folder, id)
  const path = join(folder.sockets, `${id}.new`)
  // In the folder for all users each may rename and remove only their own files.
  const isSafe = folder.kind !== 'beside'
  return { path, openToAll: () => void (isSafe && chmodSync(path, 0o666)), close: () => undefined }
}

function privateBirthplace({ sockets }: StateFolder, id: string): Birthplace {
  const made = mkdtempSync(join(sockets, 'new-'))
  const fd = openSync(made, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY)
  const open = `/proc/self/fd/${fd}`
  const stays = existsSync(open)
  const path = join(stays ? open : made, `${id}.new`)
  const { uid, mode } = fstatSync(fd)
  const isPrivate = stays && uid === process.geteuid?.() && (mode & 0o77) === 0
  return {
    path,
    // In the folder of another user the socket keeps its mode. Then waiters may need a TTL.
    openToAll: () => void (isPrivate && chmodSync(path, 0o666)),
    close() {
      quietly(() => unlinkSync(path))
      closeSync(fd)
      quietly(() => rmdirSync(made))
    },
  }
}

/** Another process removes what is left. */
function quietly(remove: () => void): void {
  try {
    remove()
  } catch {
    // It is gone, as it should be, or it was changed meanwhile.
  }
}
