/**
 * What the everyday scenarios have in common: a folder that all processes share, and a lock or
 * none.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocks, type Locks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import type { Stage } from '../../processes/protocol.js'

export interface PlaySettings {
  readonly withLock: boolean
  /** Where files, and the locks, are. */
  readonly folder: string
  /** This process among all, from 0. */
  readonly index: number
}

/** One process in an everyday scenario. */
export type Play = (settings: PlaySettings, stage: Stage) => Promise<void>

export interface Everyday {
  readonly id: 'payment' | 'schedule' | 'cache' | 'config'
  readonly processes: number
  /**
   * Whether they stop for each other while one of them has the lock, which keeps the others from
   * coming.
   */
  readonly meetsUnderLock: boolean
  readonly play: Play
  /** Counts the damage when all have ended, and how often the right thing was done. */
  readonly count: (folder: string) => { readonly damage: number; readonly done: number }
}

/** Each process stops here until all have come that can: without a lock, all of them. */
export const TOGETHER = 'together'

const TTL_MS = 5000

export async function withLocks<T>(folder: string, use: (locks: Locks) => Promise<T>): Promise<T> {
  const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }), { ttlMs: TTL_MS })
  try {
    return await use(locks)
  } finally {
    await locks.close()
  }
}

/** Writes one line, in one step, so that no two can write over each other. */
export function log(folder: string, name: string, line: string): void {
  appendFileSync(join(folder, name), `${line}\n`)
}

export function linesOf(folder: string, name: string): string[] {
  const file = join(folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}
