/** Makes the state folder beside a path, for those users who may write to the folder around it. */
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Each of the three classes of users. */
const CLASSES = [0o100, 0o10, 0o1]
const GROUP = 0o70
/** Another user may have put a link there. */
const READ_FOLDER = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY
/** The names of the folders of the boots. */
export const BOOT = /^(?:[0-9a-f]{16}|any)$/
/**
 * Whether a folder was made here. A user who may rename another one to `.holdfast` must not thereby
 * change who may read that.
 */
const isOurs = (name: string): boolean => name === '.gitignore' || BOOT.test(name)

export interface MadeFolder {
  /** The folder of the boot. Undefined on Windows, which opens no folders. */
  readonly fd?: number
  /** A path that stays as long as the descriptor is open, where the system has one. */
  readonly path?: string | undefined
}

/**
 * Makes the folder of a boot, and what has to be around it and in it. Opens it.
 * @param directory the path of the folder of the boot
 */
export function makeBeside(directory: string): MadeFolder {
  const [beside, boot] = [dirname(directory), basename(directory)]
  const above = statSync(dirname(beside))
  // Other users get in when all is there.
  unlessPresent(() => mkdirSync(beside, { mode: 0o700 }))
  if (process.platform === 'win32') {
    makeInside(beside, boot)
    return {}
  }
  const fd = openSync(beside, READ_FOLDER)
  try {
    const path = pathOf(fd) ?? beside
    const mayChange = readdirSync(path).every(isOurs)
    if (mayChange) takeOver(fd, above)
    makeInside(path, boot)
    const made = openForAll(join(path, boot))
    if (mayChange) followMode(fd, above)
    return { fd: made, path: pathOf(made) }
  } finally {
    closeSync(fd)
  }
}

function makeInside(beside: string, boot: string): void {
  unlessPresent(() => writeFileSync(join(beside, '.gitignore'), '*\n', { flag: 'wx' }))
  unlessPresent(() => mkdirSync(join(beside, boot)))
  makeContents(join(beside, boot))
}

/** Makes what has to be in the folder of a boot. */
export function makeContents(root: string): void {
  const sockets = join(root, 's')
  unlessPresent(() => mkdirSync(sockets))
  if (process.platform !== 'win32') closeSync(openForAll(sockets))
  for (const path of [root, sockets])
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
}

/**
 * Opens a folder. No user may be kept out of it by the mask of the process that made it: that is
 * decided above.
 */
function openForAll(path: string): number {
  const fd = openSync(path, READ_FOLDER)
  const { uid, mode } = fstatSync(fd)
  if ((mode & 0o777) !== 0o777 && uid === process.geteuid?.()) fchmodSync(fd, 0o777)
  return fd
}

/** Returns the path of an open folder under which Linux keeps it; undefined elsewhere. */
function pathOf(fd: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  const path = `/proc/self/fd/${fd}`
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  const { ino, dev } = fstatSync(fd, { bigint: true })
  return found?.ino === ino && found.dev === dev ? path : undefined
}

/** What root makes in the folder of another user belongs to that user. */
function takeOver(fd: number, above: Stats): void {
  if (process.geteuid?.() !== 0 || above.uid === 0 || fstatSync(fd).uid !== 0) return
  isAllowed(() => fchownSync(fd, above.uid, above.gid))
}

/** Lets those users in who may write to the folder around this one, and no others. */
function followMode(fd: number, above: Stats): void {
  const user = process.geteuid?.()
  const { uid, gid } = fstatSync(fd)
  if (user !== 0 && user !== uid) return
  let mode = modeUnder(above.mode)
  const keepsGroup =
    (mode & GROUP) === 0 || gid === above.gid || isAllowed(() => fchownSync(fd, uid, above.gid))
  // The group of the folder is another one, whose members may not write around it.
  if (!keepsGroup) mode &= ~GROUP
  if ((fstatSync(fd).mode & 0o7777) !== mode) isAllowed(() => fchmodSync(fd, mode))
}

function modeUnder(above: number): number {
  const classes = CLASSES.filter((one) => (above & (one * 0o3)) === one * 0o3)
  return 0o700 | classes.reduce((mode, one) => mode | (one * 0o7), 0)
}

/**
 * Returns false when the system does not allow a change. This user may be no member of the group,
 * or may be root in a container without these rights.
 */
function isAllowed(change: () => void): boolean {
  try {
    change()
    return true
  } catch (error) {
    if (['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

function unlessPresent(make: () => void): void {
  try {
    make()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
