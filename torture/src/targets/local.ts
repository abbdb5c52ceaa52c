/** Stores without a server: the embedded one in a folder of its own, and the memory of one process. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Action, Target } from './target.js'

export function memoryTarget(): Target {
  return { nodes: [], connection: () => ({ ports: [] }), actions: {}, stop: () => Promise.resolve() }
}

/** @param small on a disk of its own that can be filled, which needs root */
export function embeddedTarget(small: boolean): Target {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-embedded-'))
  if (small) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'holdfast-torture', folder])
  return {
    nodes: [],
    connection: () => ({ ports: [], directory: folder }),
    actions: { 'disk-full': () => fill(join(folder, 'ballast')) } satisfies Record<string, Action>,
    tolerated: { 'disk-full': ['STORE_CONFIG'] },
    stop() {
      if (small) execFileSync('umount', ['--lazy', folder])
      rmSync(folder, { recursive: true, force: true })
      return Promise.resolve()
    },
  }
}

const PIECES = [1024 * 1024, 4096]

/** Writes until nothing more fits. */
function fill(path: string): () => void {
  const file = openSync(path, 'w')
  for (const size of PIECES) {
    const piece = Buffer.alloc(size)
    while (fits(file, piece));
  }
  closeSync(file)
  return () => rmSync(path)
}

function fits(file: number, piece: Buffer): boolean {
  try {
    return writeSync(file, piece) === piece.length
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
