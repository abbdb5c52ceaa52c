/** What a process leaves behind that is killed while it makes a file or a socket. */
import { lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { UNFINISHED_FILE } from '../folder/make-files.js'
import type { StateFolder } from '../folder/state-folder.js'
import { UNFINISHED_SOCKET } from './socket-birthplace.js'

/** No process takes so long to finish one. */
const UNFINISHED_MS = 60_000

/** Removes what was not finished. What belongs to another user, that user removes. */
export function removeUnfinished({ root, sockets }: StateFolder, nowMs: number): void {
  const found = [...namesIn(sockets, UNFINISHED_SOCKET), ...namesIn(root, UNFINISHED_FILE)]
  for (const path of found) {
    try {
      removeIfOld(path, nowMs)
    } catch {
      // Another process has removed it, or it is another user's.
    }
  }
}

function removeIfOld(path: string, nowMs: number): void {
  const found = lstatSync(path)
  if (nowMs - found.mtimeMs < UNFINISHED_MS) return
  if (!found.isDirectory()) {
    unlinkSync(path)
    return
  }
  // Never what is below: another user may have put any folder there.
  for (const inner of namesIn(path, UNFINISHED_SOCKET)) unlinkSync(inner)
  rmdirSync(path)
}

function namesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder).flatMap((name) => (pattern.test(name) ? join(folder, name) : []))
}
