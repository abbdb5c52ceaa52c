/** What the parts of the store know of the folder, and which of its files keeps a lock. */
import { join } from 'node:path'

/**
 * How many database files a folder has. A process that stops while it writes blocks the locks of
 * one file only.
 */
export const FILES = 8

export interface StateFolder {
  /** The folder, as errors name it. */
  readonly directory: string
  /** Whose it is: one user's, that of all users, or of all who may write to the folder above. */
  readonly kind: 'own' | 'system' | 'beside'
  /**
   * The path by which this process opens it. Another one than `directory` where that may be renamed
   * while it is in use.
   */
  readonly root: string
  /** Where the unix sockets of the processes are. */
  readonly sockets: string
  /** The file that says how the state is laid out. It holds no locks. */
  readonly layout: string
  /** Whether other users take part. */
  readonly shared: boolean
  /** Whether no other boot uses these files, so that a power failure may damage them. */
  readonly perBoot: boolean
  /** Gives up what keeps `root` valid, after the last use. */
  readonly close?: () => void
}

/** One database file of a folder. */
export interface DatabaseFile extends StateFolder {
  readonly database: string
}

/** The database files of a folder, in order. They need not exist yet. */
export function databaseFiles(folder: StateFolder): readonly DatabaseFile[] {
  return Array.from({ length: FILES }, (_, index) => ({
    ...folder,
    database: join(folder.root, `locks-${index}.db`),
  }))
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193
const LAST_ASCII = 0x7f

/**
 * The index of the file that keeps a lock: FNV-1a over the UTF-8 bytes of its name. Part of the
 * stored format.
 */
export function fileIndexOf(lock: string): number {
  let hash = FNV_OFFSET
  for (let index = 0; index < lock.length; index += 1) {
    const code = lock.charCodeAt(index)
    if (code > LAST_ASCII) return indexOfBytes(Buffer.from(lock))
    hash = Math.imul(hash ^ code, FNV_PRIME)
  }
  return (hash >>> 0) % FILES
}

function indexOfBytes(name: Uint8Array): number {
  let hash = FNV_OFFSET
  for (const byte of name) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return (hash >>> 0) % FILES
}
