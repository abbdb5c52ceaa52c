/**
 * The name of the lock of a path: the device and the inode of the folder around it, and its own
 * name there. So all paths of a file agree, a file need not exist, and another one may replace it.
 */
import { createHash } from 'node:crypto'
import { lstatSync, statSync } from 'node:fs'
import { MAX_NAME_BYTES } from '../../../store/names.js'
import { BESIDE } from './beside-folder.js'
import { fileSystemType } from './file-systems.js'
import type { StateFolder } from './state-folder.js'

const ZFS = 0x2fc12fc1

/**
 * Returns the name of the lock.
 * @param folder the state folder, which exists
 * @param base what is locked, by its name in the folder around that
 */
export function lockNameOf({ root }: StateFolder, base: string): string {
  // Not `join`, which would take `..` away. The folder may have been renamed meanwhile.
  const parent = `${root}/../..`
  const { dev, ino } = statSync(parent, { bigint: true })
  const folder = `${dev}:${ino}/`
  const name = folder + printable(inComparedForm(base, parent))
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name
  // No other name has two slashes.
  return `${folder}/${createHash('sha256').update(name).digest('hex')}`
}

function inComparedForm(base: string, parent: string): string {
  if (ignoresCase(parent)) return folded(base)
  return ignoresForm(parent) ? base.normalize('NFD') : base
}

/** Whether names that differ in case alone are one name here. */
function ignoresCase(parent: string): boolean {
  const other = lstatSync(`${parent}/${BESIDE.toUpperCase()}`, {
    throwIfNoEntry: false,
    bigint: true,
  })
  if (!other) return false
  const own = lstatSync(`${parent}/${BESIDE}`, { throwIfNoEntry: false, bigint: true })
  return own?.ino === other.ino && own.dev === other.dev
}

/**
 * Whether composed and decomposed characters may be one name here. ZFS decides that when a file
 * system is made, and does not show it.
 */
function ignoresForm(parent: string): boolean {
  return process.platform === 'darwin' || fileSystemType(parent) === ZFS
}

/**
 * Returns one text for all names that such a file system takes as equal. It may take fewer names as
 * equal: these share a lock, too. Lower case first, or the capital ß would stay apart from `ss`.
 */
export function folded(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .toUpperCase()
    .normalize('NFKD')
}

/** Returns the name without control characters, which no lock name may have. */
function printable(base: string): string {
  // The system gets halves of surrogate pairs as U+FFFD, too.
  const text = Buffer.from(base).toString()
  return text.replaceAll(/[%\p{Cc}]/gu, (character) => encodeURIComponent(character))
}
