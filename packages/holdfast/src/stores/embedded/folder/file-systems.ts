/** The kinds of file systems. SQLite cannot keep locks on those of a network. */
import { statfsSync } from 'node:fs'
import { StoreUnavailableError } from '../../../errors.js'
import type { Machine } from './machine.js'

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
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x19830326, 'BeeGFS'],
  [0x47504653, 'GPFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x786f4256, 'VirtualBox shared folder'],
  [0xbacbacbc, 'VMware shared folder'],
  [0x7c7c6673, 'Parallels shared folder'],
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
  const type = fileSystemType(path)
  return (
    NETWORK_FILE_SYSTEMS.get(type) ?? LOCAL_FILE_SYSTEMS.get(type) ?? `type 0x${type.toString(16)}`
  )
}

/**
 * Checks that a folder is on no network file system.
 * @param directory how errors name the folder
 * @throws StoreUnavailableError (`STORE_CONFIG`) that names the file system.
 */
export function refuseNetwork(path: string, directory: string, machine: Machine): void {
  const type = machine.fileSystemType?.(directory) ?? fileSystemType(path)
  const network = NETWORK_FILE_SYSTEMS.get(type)
  if (network === undefined) return
  throw new StoreUnavailableError(
    `The folder ${directory} is on a network file system (${network}), where SQLite cannot keep locks. ` +
      'Choose a folder on a local disk, or a store with a server for several machines.',
    { code: 'STORE_CONFIG', store: 'embedded' },
  )
}

export function fileSystemType(path: string): number {
  return statfsSync(path).type >>> 0
}
