/** Temporary folders for the files of servers. What is left of them at the exit is removed. */
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mountMemory, unmountIn } from './disk.js'

const folders = new Set<string>()

/**
 * A folder of its own for a server.
 * @param diskMb on a disk of its own of this size, which needs root
 */
export function makeFolder(name: string, diskMb?: number): string {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
  folders.add(folder)
  if (diskMb !== undefined) mountMemory(folder, diskMb)
  return folder
}

/** A folder in another one. @param uid whose it is, if not our own */
export function makeFolderOf(parent: string, name: string, uid: number | undefined): string {
  const folder = join(parent, name)
  mkdirSync(folder, { mode: 0o700 })
  if (uid !== undefined) {
    chmodSync(parent, 0o711)
    chownSync(folder, uid, uid)
  }
  return folder
}

export function removeFolder(folder: string): void {
  unmountIn(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folders.delete(folder)
}

/** Removes all folders that are left. */
export function removeFolders(): void {
  for (const folder of [...folders]) removeFolder(folder)
}
