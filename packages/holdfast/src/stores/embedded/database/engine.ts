/**
 * SQLite: the one in Node where there is one (22.13 and later), else `@photostructure/sqlite`,
 * which has the same API.
 */
import { StoreUnavailableError } from '../../../errors.js'

/**
 * What is used of `node:sqlite`. A closed database of `@photostructure/sqlite` keeps its files open
 * until its statements are collected as garbage; it holds no lock on them.
 */
export interface Statement {
  all(...values: readonly SqlValue[]): unknown[]
  get(...values: readonly SqlValue[]): unknown
  run(...values: readonly SqlValue[]): unknown
}

export type SqlValue = string | number | bigint | null

export interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

export interface Engine {
  readonly name: 'node:sqlite' | '@photostructure/sqlite'
  open(path: string): Database
}

interface SqliteModule {
  readonly DatabaseSync: new (path: string) => Database
}

let engine: Engine | undefined

/**
 * Finds the engine.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when there is none.
 */
export function findEngine(): Engine {
  engine ??= load()
  return engine
}

function load(): Engine {
  const builtIn = withoutWarning(
    () => process.getBuiltinModule('node:sqlite') as SqliteModule | undefined,
  )
  if (builtIn) return { name: 'node:sqlite', open: (path) => new builtIn.DatabaseSync(path) }
  try {
    const module = require('@photostructure/sqlite') as SqliteModule
    return { name: '@photostructure/sqlite', open: (path) => new module.DatabaseSync(path) }
  } catch (error) {
    throw new StoreUnavailableError(
      `Node ${process.versions.node} has no SQLite. Run "npm install @photostructure/sqlite@1.2.1", or use Node 22.13 or later.`,
      { code: 'STORE_CONFIG', store: 'embedded', cause: error },
    )
  }
}

/**
 * Node calls its SQLite experimental, on standard error, in every process. What is used here has
 * been stable.
 */
function withoutWarning<T>(load: () => T): T {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

export const BUSY = 5
export const LOCKED = 6
export const READ_ONLY = 8
export const IO_ERROR = 10
export const CORRUPT = 11
export const FULL = 13
export const CANNOT_OPEN = 14
export const NOT_A_DATABASE = 26
/** The kind of `IO_ERROR` that a file gives which is shorter than it should be. */
export const SHORT_READ = IO_ERROR | (2 << 8)

/**
 * `@photostructure/sqlite` forgets the code when a query fails in its first step; these texts are
 * SQLite's own.
 */
const CODES = new Map<unknown, number>([
  ['database is locked', BUSY],
  ['database table is locked', LOCKED],
  ['attempt to write a readonly database', READ_ONLY],
  ['disk I/O error', IO_ERROR],
  ['database disk image is malformed', CORRUPT],
  ['database or disk is full', FULL],
  ['unable to open database file', CANNOT_OPEN],
  ['file is not a database', NOT_A_DATABASE],
])

/** SQLite's own result code, without the extension; undefined for other errors. */
export function resultCode(error: unknown): number | undefined {
  const { errcode, message } = (error ?? {}) as { errcode?: unknown; message?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : CODES.get(message)
}

/** One value of the first row. */
export function single(db: Database, sql: string, column = 'value'): unknown {
  const [row] = db.prepare(sql).all() as [Record<string, unknown>?]
  return row?.[column]
}
