/** Folders, machines and raw connections for the tests of the embedded store. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { embeddedStore, type EmbeddedStoreOptions } from 'holdfast/embedded'
import type { Store } from 'holdfast/store'
import { after } from '../../../../../test/support/after.js'
import { systemClock, type Clock } from '../../../dist/clock/clock.js'

export { after, closing } from '../../../../../test/support/after.js'
export { makeClaim, take } from '../../../../../test/support/claims.js'

/**
 * What the store asks of the machine. The published types leave it out, since it is there for
 * tests.
 */
export interface Machine {
  monotonicMs(): number
  wallMs(): number
  readonly timer: Clock['timer']
  readonly bootId: string
  readonly pidNamespace: string
  fileSystemType?(path: string): number
  readonly systemDirectory?: string
}

export function openOn(options: EmbeddedStoreOptions & { readonly machine: Machine }): Store {
  return embeddedStore(options)
}

export interface RawDatabase {
  exec(sql: string): void
  prepare(sql: string): { all(...values: unknown[]): Record<string, unknown>[] }
  close(): void
}

export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-embedded-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A connection to a database that knows nothing of locks. */
export function openRaw(path: string): RawDatabase {
  const require = createRequire(import.meta.url)
  const builtIn = process.getBuiltinModule('node:sqlite') as object | undefined
  const { DatabaseSync } = (builtIn ?? require('@photostructure/sqlite')) as {
    DatabaseSync: new (path: string) => RawDatabase
  }
  return new DatabaseSync(path)
}

/**
 * The number of database files, and how a name finds its own: the stored format, written down a
 * second time.
 */
export const FILES = 8

export function databaseOf(directory: string, lock: string): string {
  let hash = 2_166_136_261n
  for (const byte of new TextEncoder().encode(lock)) {
    hash = ((hash ^ BigInt(byte)) * 16_777_619n) & 0xffff_ffffn
  }
  return join(directory, `locks-${hash % BigInt(FILES)}.db`)
}

/** Another lock in the same file. */
export function neighbourOf(lock: string): string {
  for (let index = 0; ; index += 1) {
    const name = `${lock} ${index}`
    if (databaseOf('', name) === databaseOf('', lock)) return name
  }
}

/** The database files that exist. */
export function databasesIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => /^locks-\d+\.db$/.test(name))
  return names.toSorted().map((name) => join(directory, name))
}

/** A machine whose clocks and boot the test decides; they are those of this one to begin with. */
export function makeMachine(changes: Partial<Machine> = {}): Machine {
  return {
    monotonicMs: () => Number(process.hrtime.bigint() / 1000n) / 1000,
    wallMs: () => Date.now(),
    timer: (...call) => systemClock.timer(...call),
    bootId: 'a boot',
    pidNamespace: 'a namespace',
    ...changes,
  }
}
