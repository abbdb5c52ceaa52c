/** Fills a disk to the last byte, and makes room again. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PIECES = [1024 * 1024, 4096]

/** Writes into a folder until nothing more fits there. Gives what makes room again. */
export function fillDisk(folder: string): () => void {
  const path = join(folder, 'ballast')
  const file = openSync(path, 'w')
  for (const size of PIECES) {
    const piece = Buffer.alloc(size)
    while (fits(file, piece));
  }
  closeSync(file)
  return () => rmSync(path, { force: true })
}

function fits(file: number, piece: Buffer): boolean {
  try {
    return writeSync(file, piece) === piece.length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
