/**
 * Stores without a server: the embedded one in a folder of its own, and the memory of one process.
 */
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import { fillDisk } from './disk.js'
import type { Target } from './target.js'

const DISK_MB = 8

export function memoryTarget(): Target {
  return {
    nodes: [],
    connection: () => ({ ports: [] }),
    actions: {},
    stop: () => Promise.resolve(),
  }
}

/** @param small on a disk of its own that can be filled, which needs root */
export function embeddedTarget(small: boolean): Target {
  const folder = makeFolder('torture-embedded', small ? DISK_MB : undefined)
  return {
    nodes: [],
    connection: () => ({ ports: [], directory: folder }),
    actions: { 'disk-full': () => fillDisk(folder) },
    tolerated: { 'disk-full': ['STORE_CONFIG'] },
    stop() {
      removeFolder(folder)
      return Promise.resolve()
    },
  }
}
