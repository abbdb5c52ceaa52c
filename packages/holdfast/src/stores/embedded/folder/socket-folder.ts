/** Where the sockets of the processes are. */
import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreUnavailableError } from '../../../errors.js'

/** Node 20 cuts longer socket paths silently at 107 bytes, and two cut ones can be the same. */
const LONGEST_SOCKET_PATH = 100
/** Longer than `/` and the name of a socket. */
const SOCKET_NAME_BYTES = 20

/** Beside the database, or under the temporary folder when that path is too long for a socket. */
export function socketFolder(directory: string): string {
  const beside = join(directory, 's')
  if (Buffer.byteLength(beside) + SOCKET_NAME_BYTES <= LONGEST_SOCKET_PATH) return beside
  const hash = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `holdfast-${hash}`)
  checkTemporary(folder, directory)
  return folder
}

/** In a folder that all users may write to, the name may be a trap. */
export function checkTemporary(folder: string, directory: string): void {
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
