/**
 * Disks of their own for folders, which need root: in memory, to fill them; or in a file, to stall
 * them.
 */
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'

const disks = new Set<string>()
const stalled = new Set<string>()

/** Puts a folder on a disk in memory. */
export function mountMemory(folder: string, megabytes: number): void {
  run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'holdfast', folder)
  disks.add(folder)
}

/**
 * Puts a folder on a disk that can stall. It is a sparse file beside the folder. @param uid whose
 * it is, if not our own
 */
export function mountDisk(folder: string, megabytes: number, uid?: number): void {
  const file = `${folder}.disk`
  run('truncate', '-s', `${megabytes}M`, file)
  run('mkfs.ext4', '-q', '-F', file)
  run('mount', '-o', 'loop', file, folder)
  disks.add(folder)
  if (uid !== undefined) chownSync(folder, uid, uid)
}

/** From now on writes to the disk of this folder wait. Returns a function that undoes it. */
export function stallDisk(folder: string): () => void {
  run('fsfreeze', '--freeze', folder)
  stalled.add(folder)
  return () => resumeDisk(folder)
}

/** Whether this process may mount disks that can stall, and has the programs for it. */
export function canStallDisks(): boolean {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
  const folder = join(parent, 'disk')
  try {
    mkdirSync(folder)
    mountDisk(folder, 8)
    stallDisk(folder)()
    return true
  } catch {
    // Not root, not allowed, or not installed: what is asked is only whether.
    return false
  } finally {
    unmountIn(parent)
    rmSync(parent, { recursive: true, force: true })
  }
}

/** Unmounts the disks of a folder and of those in it. */
export function unmountIn(folder: string): void {
  for (const disk of disks) {
    if (disk !== folder && !disk.startsWith(folder + sep)) continue
    resumeDisk(disk)
    disks.delete(disk)
    // Lazily, since a process that was killed a moment ago may have files open.
    run('umount', '--lazy', disk)
  }
}

/** Resumes all disks of a folder: a process that waits for one of them cannot be killed. */
export function resumeIn(folder: string): void {
  for (const disk of stalled) if (disk.startsWith(folder + sep)) resumeDisk(disk)
}

function resumeDisk(folder: string): void {
  if (stalled.delete(folder)) run('fsfreeze', '--unfreeze', folder)
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: 'pipe' })
}
