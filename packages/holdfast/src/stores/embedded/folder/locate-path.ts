/**
 * Which file or folder a path names: the folder that it is in, and its name there. Links are
 * followed, also the last one. The file or folder itself need not exist.
 */
import { lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { StoreUnavailableError } from '../../../errors.js'

export interface LocatedPath {
  /** The real path of the folder around it. */
  readonly parent: string
  /** Its name there, as the caller wrote it. */
  readonly base: string
}

/** As many links as Linux follows. */
const MOST_LINKS = 40

/**
 * Locates an absolute path, in which `..` means what it means to the system.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when there is no folder around it in which all
 * processes that share it could meet.
 */
export function locatePath(path: string): LocatedPath {
  let located: LocatedPath
  try {
    located = follow(path)
  } catch (error) {
    throw notLocated(path, (error as Error).message, error)
  }
  const real = join(located.parent, located.base)
  if (located.base === '') {
    throw notLocated(path, 'it is the root, and no folder is around it. Lock a file in it')
  }
  if (exists(real) && isMountPoint(real)) {
    throw notLocated(
      path,
      'something is mounted there, and other processes may see it in another folder. Lock a file in it, or ' +
        'mount the folder around it',
    )
  }
  return located
}

function follow(path: string): LocatedPath {
  let current = path
  for (let links = 0; links <= MOST_LINKS; links += 1) {
    const base = basename(current)
    if (base === '' || base === '.' || base === '..') {
      const real = realpathSync.native(current)
      return { parent: dirname(real), base: basename(real) }
    }
    const parent = realpathSync.native(dirname(current))
    const target = targetOf(join(parent, base))
    if (target === undefined) return { parent, base }
    // Not `join`, which would take `..` away together with a link before it.
    current = isAbsolute(target) ? target : `${parent}/${target}`
  }
  throw new Error('it has too many links')
}

/** Returns where a link points to; undefined for anything else, and for nothing. */
function targetOf(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isSymbolicLink() === true ? readlinkSync(path) : undefined
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/**
 * Whether a file system, a folder or a file is mounted at this path in this process's view of the
 * files. The path is real and exists.
 */
function isMountPoint(path: string): boolean {
  const points = mountPoints()
  return points ? points.has(path) : lstatSync(path).dev !== lstatSync(dirname(path)).dev
}

/** Only Linux lists them. A folder that is mounted at a second path has the same device there. */
function mountPoints(): ReadonlySet<string> | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    return new Set(lines.map((line) => unescaped(line.split(' ')[4] ?? '')))
  } catch {
    return undefined
  }
}

/** The kernel writes spaces, tabs, newlines and backslashes as octal numbers. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  )
}

function notLocated(path: string, reason: string, cause?: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`The path ${path} cannot be locked: ${reason}.`, {
    code: 'STORE_CONFIG',
    store: 'embedded',
    cause,
  })
}
