/**
 * The part of node:crypto that `holdfast run` uses. The bundle of that command has this in its
 * place: node:crypto takes several milliseconds to load, and the kernel's random numbers none.
 */
import { closeSync, openSync, readSync } from 'node:fs'

type Crypto = typeof import('node:crypto')

/** Loads the real module, for what only rare paths use. */
function whole(): Crypto {
  return process.getBuiltinModule('node:crypto')
}

export function randomBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  try {
    const source = openSync('/dev/urandom', 'r')
    try {
      if (readSync(source, bytes, 0, size, null) === size) return bytes
    } finally {
      closeSync(source)
    }
  } catch {
    // A system, or a jail, without this device.
  }
  return whole().randomBytes(size)
}

/** Returns a random name. It need not have the version bits of a UUID. */
export function randomUUID(): string {
  return randomBytes(16).toString('hex')
}

export function createHash(algorithm: string): ReturnType<Crypto['createHash']> {
  return whole().createHash(algorithm)
}
