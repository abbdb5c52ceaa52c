/** Looks at the folder of an embedded store: its rights, its owner, and what kind of disk it is on. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { folderOf } from '../stores/folder.js'
import { failure, ok, warning, type Finding } from './check.js'

/** Magic numbers of statfs(2). Locks and sockets of one machine cannot live on what several machines share. */
const FILE_SYSTEMS: Readonly<Record<number, { name: string; network?: boolean }>> = {
  0xef53: { name: 'ext4' },
  0x58465342: { name: 'xfs' },
  0x9123683e: { name: 'btrfs' },
  0x2fc12fc1: { name: 'zfs' },
  0x01021994: { name: 'tmpfs' },
  0x794c7630: { name: 'overlay' },
  0xf2f52010: { name: 'f2fs' },
  0x6969: { name: 'nfs', network: true },
  0xff534d42: { name: 'cifs', network: true },
  0xfe534d42: { name: 'smb', network: true },
  0x517b: { name: 'smb', network: true },
  0x01021997: { name: '9p', network: true },
  0x00c36400: { name: 'ceph', network: true },
  0x65735546: { name: 'fuse' },
  0x5346414f: { name: 'afs', network: true },
  0x47504653: { name: 'gpfs', network: true },
  0x0bd00bd0: { name: 'lustre', network: true },
}

/** Below this a database that grows a little fails. */
const LITTLE_SPACE = 16 * 1024 * 1024

export function checkFolder(url: string): Finding[] {
  const folder = folderOf(url)
  try {
    return [rights(folder), fileSystem(folder), space(folder)]
  } catch (error) {
    return [failure('folder', error)]
  }
}

function rights(folder: string): Finding {
  const { mode, uid } = statSync(folder)
  const text = `${folder}, owner ${uid}, mode ${(mode & 0o7777).toString(8)}`
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    return failure('folder', error)
  }
  const open = (mode & 0o002) !== 0 && (mode & 0o1000) === 0
  return open
    ? warning(
        'folder',
        `${text}: everybody may write and it is not sticky, so anybody can remove the locks (chmod +t)`,
      )
    : ok('folder', text)
}

function fileSystem(folder: string): Finding {
  const type = statfsSync(folder).type
  const known = FILE_SYSTEMS[type]
  if (process.platform !== 'linux') return ok('file system', `type ${type}`)
  if (known === undefined)
    return warning('file system', `unknown type 0x${type.toString(16)}; is it of this machine alone?`)
  return known.network === true
    ? failure('file system', {
        code: 'STORE_CONFIG',
        message: `${known.name} is shared between machines; use a local disk`,
      })
    : ok('file system', known.name)
}

function space(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder)
  const megabytes = Math.floor((bavail * bsize) / 1024 / 1024)
  return bavail * bsize < LITTLE_SPACE
    ? warning('space', `${megabytes} MB are left; a full disk stops all locks`)
    : ok('space', `${megabytes} MB left`)
}
