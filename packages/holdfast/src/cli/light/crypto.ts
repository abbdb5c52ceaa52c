/**
 * In the place of `node:crypto` in the bundle of `holdfast run`. Node takes milliseconds to load
 * the module, and a run on the embedded store needs some random bytes of it alone.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import type * as Crypto from 'node:crypto'

/** Enough for the ids of a run. */
const POOL_BYTES = 256

let pool = Buffer.alloc(0)

/** Returns bytes of the kernel's generator, which `node:crypto` is seeded from. */
export function randomBytes(size: number): Buffer {
  if (size > POOL_BYTES || (pool.length < size && !fill())) return whole().randomBytes(size)
  const bytes = pool.subarray(0, size)
  pool = pool.subarray(size)
  return bytes
}

export const createHash: typeof Crypto.createHash = (...args) => whole().createHash(...args)

export const randomUUID: typeof Crypto.randomUUID = (options) => whole().randomUUID(options)

/** Returns false where the kernel has no such file. */
function fill(): boolean {
  try {
    const fd = openSync('/dev/urandom', 'r')
    try {
      const bytes = Buffer.alloc(POOL_BYTES)
      pool = bytes.subarray(0, readSync(fd, bytes))
    } finally {
      closeSync(fd)
    }
    return pool.length === POOL_BYTES
  } catch {
    return false
  }
}

function whole(): typeof Crypto {
  return process.getBuiltinModule('node:crypto')
}
