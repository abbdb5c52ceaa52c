/**
 * A file that another boot of the machine has used. It may be the earlier one, whose claims are
 * over. Or a container shares the folder, and shows its processes a boot of its own.
 *
 * Only the sockets tell the two apart. So no claim ends before each process that has a row in the
 * file is known to be gone.
 */
import { dirname, join } from 'node:path'
import { StoreUnavailableError } from '../../../errors.js'
import type { StateFolder } from '../folder/state-folder.js'
import type { Database } from './engine.js'

/** Resolves to whether a process listens at a socket, or may do so. */
export type MayLive = (id: string, socket: string) => Promise<boolean>

interface Peer {
  readonly id: string
  readonly socket: string
}

/** The file has rows of processes of another boot, of which nothing is known yet. */
export class OtherBoot extends Error {
  readonly peers: readonly Peer[]

  constructor(peers: readonly Peer[]) {
    super('another boot has used this file')
    this.peers = peers
  }
}

/** @throws OtherBoot when a process has a row of which is not known that it is gone. */
export function assertGone(db: Database, gone: ReadonlySet<string>): void {
  const peers = db.prepare('SELECT id, socket FROM peers').all() as unknown as Peer[]
  const unknown = peers.filter(({ id }) => !gone.has(id))
  if (unknown.length > 0) throw new OtherBoot(unknown)
}

/**
 * Adds the processes of another boot to those that are gone.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when one of them may live.
 */
export async function noteGone(
  { peers }: OtherBoot,
  folder: StateFolder,
  gone: Set<string>,
  mayLive: MayLive,
): Promise<void> {
  // A container may have the folder at another path. Its sockets are in the folder all the same.
  const alive = await Promise.all(
    peers.map(({ id, socket }) =>
      mayLive(id, join(folder.sockets, socket.split('/').at(-1) ?? '')),
    ),
  )
  if (alive.includes(true)) throw inUse(folder)
  for (const { id } of peers) gone.add(id)
}

/** Returns the error for a folder in which processes of another boot are at work. */
export function inUse({ kind, directory }: StateFolder): StoreUnavailableError {
  const path = kind === 'beside' ? dirname(directory) : directory
  return new StoreUnavailableError(
    `Another container uses the locks in ${path}, and shows its processes another boot of this machine ` +
      '(/proc/sys/kernel/random/boot_id), as LXC and systemd-nspawn do. Use a store with a server for both.',
    { code: 'STORE_CONFIG', store: 'embedded' },
  )
}
