/** The folder of an embedded store: where it is, and whether it may be used. */
import { mkdirSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError, UsageError } from '../cli-error.js'
import { systemFolder, userFolder } from './locate.js'

/** `embedded:`, `embedded:/folder`, `embedded:folder` or `embedded:file:///folder`. */
export function folderOf(url: string): string {
  const rest = url.slice(url.indexOf(':') + 1)
  if (rest === '') return userFolder()
  if (/[?#]/.test(rest))
    throw new UsageError(`${url} has options, and the embedded store has none. Give the folder only.`)
  if (rest.startsWith('file://')) return fileURLToPath(rest)
  // embedded:///folder is what many would write.
  return resolve(rest.startsWith('//') ? rest.replace(/^\/+/, '/') : rest)
}

/**
 * Makes the folder when it is missing. The shared one is open to all users, and sticky so that nobody can remove what
 * another made; only root can make it, and a user gets a message about that instead of locks of their own.
 */
export function ensureFolder(folder: string): void {
  if (folder === systemFolder()) ensureSystemFolder(folder)
  else makeFolder(folder, 0o700)
}

function ensureSystemFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return
  if (process.getuid?.() !== 0) {
    throw new ConfigError(
      `The folder of this machine's locks, ${folder}, does not exist, and only root can make it. ` +
        'Run `sudo holdfast doctor --system` once, or leave --system away for locks of your own.',
    )
  }
  // The umask would take the others' rights away again.
  const umask = process.umask(0)
  try {
    makeFolder(folder, 0o1777)
  } finally {
    process.umask(umask)
  }
}

function makeFolder(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { recursive: true, mode })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(
      `The folder ${folder} cannot be made (${code}). ${ADVICE[code ?? ''] ?? CHOOSE_ANOTHER}`,
      {
        cause,
      },
    )
  }
}

const CHOOSE_ANOTHER = 'Choose another one with --store embedded:/folder.'
const ADVICE: Readonly<Record<string, string>> = {
  EEXIST: `A file stands in its place. ${CHOOSE_ANOTHER}`,
  ENOTDIR: `A file stands in its path. ${CHOOSE_ANOTHER}`,
  EROFS: `The file system is read-only. ${CHOOSE_ANOTHER}`,
  ENOSPC: `The disk is full. Make room, or: ${CHOOSE_ANOTHER}`,
  EACCES: `You have no right to. ${CHOOSE_ANOTHER}`,
}
