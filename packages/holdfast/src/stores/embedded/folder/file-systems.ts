/** The kinds of file systems. SQLite cannot keep locks on those of a network. */
import { statfsSync } from 'node:fs'

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
  const type = fileSystemType(path)
  return (
    NETWORK_FILE_SYSTEMS.get(type) ?? LOCAL_FILE_SYSTEMS.get(type) ?? `type 0x${type.toString(16)}`
  )
}

/** Returns the name of a network file system; undefined on a local one. */
export function networkFileSystem(type: number): string | undefined {
  return NETWORK_FILE_SYSTEMS.get(type)
}

export function fileSystemType(path: string): number {
  return statfsSync(path).type >>> 0
}
