/** Where a peer can be reached, and what its row in the database says of that. */
import { resolve } from 'node:path'
import type { StateFolder } from './state-folder.js'

export interface SocketAddress {
  readonly id: string
  readonly socket: string
  readonly inode: string
  readonly pidNamespace: string
}

/**
 * Returns what the row says of a socket. A folder beside a path may have another path in each
 * process, so the row has the part below that.
 */
export function storedSocket({ kind, root }: StateFolder, socket: string): string {
  const below = `${root}/`
  return kind === 'beside' && socket.startsWith(below) ? socket.slice(below.length) : socket
}

/** Returns the path by which this process reaches a socket of which a row says this. */
export function socketOf({ root }: StateFolder, stored: string): string {
  return resolve(root, stored)
}
