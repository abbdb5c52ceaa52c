/** Users and a group that no file belongs to, as which only root can start processes. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeDirectory } from '../../support/world.js'

const GROUP = 64_100
export const alice = { uid: 64_001, gid: GROUP }
export const bob = { uid: 64_002, gid: GROUP }
export const stranger = { uid: 64_003, gid: 64_003 }
export const root = { uid: 0, gid: 0 }

export const canChangeUser =
  process.platform === 'linux' && process.getuid?.() === 0 && othersCanRead()

if (!canChangeUser) console.log('left out: other users, which only root can become')

/** A folder of the mode and the owner, in one that all may look into. */
export function makeFolder(mode: number, owner: { uid: number; gid: number } = alice): string {
  const around = makeDirectory()
  chmodSync(around, 0o755)
  const folder = join(around, 'folder')
  mkdirSync(folder)
  chownSync(folder, owner.uid, owner.gid)
  chmodSync(folder, mode)
  return folder
}

function othersCanRead(): boolean {
  const { status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', "import 'holdfast/embedded'"],
    { cwd: import.meta.dirname, ...alice },
  )
  return status === 0
}
