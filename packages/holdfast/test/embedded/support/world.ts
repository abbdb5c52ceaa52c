/** Folders, claims and raw connections for the tests of the embedded store. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { embeddedStore, type EmbeddedStoreOptions } from 'holdfast/embedded'
import { CAPACITY_ALL, type Claim, type Granted, type Store } from 'holdfast/store'
import { afterEach } from 'vitest'

/** What the store asks of the machine. The published types leave it out, since it is there for tests. */
export interface Machine {
  monotonicMs(): number
  wallMs(): number
  readonly bootId: string
  readonly pidNamespace: string
  fileSystemType?(path: string): number
  readonly systemDirectory?: string
}

export function openOn(options: EmbeddedStoreOptions & { readonly machine: Machine }): Store<true> {
  return embeddedStore(options)
}

export interface RawDatabase {
  exec(sql: string): void
  prepare(sql: string): { all(...values: unknown[]): Record<string, unknown>[] }
  close(): void
}

const cleanups: (() => unknown)[] = []

/** Done after the test, the latest first. */
export function after(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-embedded-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Closes the store after the test. */
export function closing<S extends Store>(store: S): S {
  after(() => store.close())
  return store
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

/** The number of database files, and how a name finds its own: the stored format, written down a second time. */
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

export function makeClaim(lock: string, changes: Partial<Claim> = {}): Claim {
  const owner = { clientId: randomUUID().slice(0, 8), host: 'test', pid: process.pid }
  const id = `${owner.clientId}.${randomUUID().slice(0, 8)}`
  return {
    lock,
    id,
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    weight: CAPACITY_ALL,
    ttlMs: 30_000,
    heartbeatMs: 1000,
    owner,
    ...changes,
  }
}

/** Takes a free lock, or fails. */
export async function take(store: Store, claim: Claim): Promise<Granted & { token: bigint }> {
  const result = await store.attempt(claim, { enqueue: false, tokens: 1 })
  if (result.outcome !== 'granted' || result.token === undefined) {
    throw new Error(`the lock ${claim.lock} was expected to be free, and the answer is ${result.outcome}`)
  }
  return { ...result, token: result.token }
}

/** The engine for Node 20 gives back its files only when its statements are collected. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc()')
}

/** A machine whose clocks and boot the test decides; they are those of this one to begin with. */
export function makeMachine(changes: Partial<Machine> = {}): Machine {
  return {
    monotonicMs: () => Number(process.hrtime.bigint() / 1000n) / 1000,
    wallMs: () => Date.now(),
    bootId: 'a boot',
    pidNamespace: 'a namespace',
    ...changes,
  }
}

/** Looks until it is so. The time is a bound, not a wait. */
export async function until(what: string, isSo: () => unknown, withinMs = 10_000): Promise<void> {
  const giveUpMs = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > giveUpMs) throw new Error(`${what}: not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
