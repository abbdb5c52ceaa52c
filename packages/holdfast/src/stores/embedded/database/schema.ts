/**
 * A database file: what is in it, how it is opened, and what happens to a file that is not ours.
 *
 * `locks` has one row a lock, whose state is read and written whole by the grant rule. Each lock
 * that is held or waited for is marked as `busy`. So are those that were, for an hour or two.
 * `peers` has one row for each open store that has used this file. `facts` has what they must agree
 * on.
 */
import { statSync } from 'node:fs'
import { StoreUnavailableError } from '../../../errors.js'
import { newerFormat } from '../../../store/errors.js'
import { placeOf } from '../folder/beside-folder.js'
import { prepareFolder } from '../folder/directory.js'
import { makeDatabaseFile } from '../folder/make-files.js'
import type { DatabaseFile, StateFolder } from '../folder/state-folder.js'
import { shownIn } from '../folder/unusable.js'
import { findEngine, single, type Database, type Engine } from './engine.js'
import { explain, isBusy } from './errors.js'
import { OtherBoot } from './other-boot.js'
import {
  forgetEarlierBoot,
  forgetSomeIdle,
  isForgettingDue,
  isOfEarlierBoot,
} from './forgetting.js'
import type { Machine } from '../folder/machine.js'

/** "hold" in ASCII: marks our files among other programs' databases. */
const APPLICATION_ID = 0x686f6c64
/** The format of the files. */
export const VERSION = 1
/** Marks a file as ours, of this format. */
export const SIGNATURE = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION};`
/**
 * Before this version SQLite could corrupt a database in WAL mode when a checkpoint met a reset of
 * the log.
 */
const WAL_SAFE = '3.51.3'

export interface OpenedDatabase {
  readonly db: Database
  readonly engine: Engine['name']
  readonly sqliteVersion: string
  readonly journal: string
  /** Another inode later means that the file was replaced. */
  readonly inode: bigint
  /** Where the folder was. */
  readonly place: string
}

/**
 * Opens the database, and makes it where there is none.
 * @param gone the processes of an earlier boot that are known to be gone
 * @throws OtherBoot when the file has rows of others of another boot.
 * @throws StoreUnavailableError (`STORE_CONFIG`) for a folder or file that cannot be used; nothing
 * is changed then.
 * @throws SQLite's own error while the file is locked by another process; see `isBusy`.
 */
export function openDatabase(
  file: DatabaseFile,
  machine: Machine,
  gone: ReadonlySet<string>,
): OpenedDatabase {
  return openFile(file.database, file, machine, (db, header) => {
    const sqliteVersion = String(single(db, 'SELECT sqlite_version() AS value'))
    const journal = chooseJournal(db, header, sqliteVersion, file)
    if (file.shared) db.exec('PRAGMA locking_mode = NORMAL')
    // Looks before it writes: a process that stopped while it writes to this file does not keep
    // others from reading it.
    if (header.version < VERSION || isOfEarlierBoot(db, machine)) createTables(db, machine, gone)
    forgetWhatIsDue(db, machine)
    const [inode, place] = [inodeOf(file.database), placeOf(file)]
    return { db, engine: findEngine().name, sqliteVersion, journal, inode, place }
  })
}

/**
 * Opens a database file of ours, and makes it where there is none. Closes it again when `prepare`
 * throws.
 * @throws StoreUnavailableError (`STORE_CONFIG`) for a folder or file that cannot be used; nothing
 * is changed then.
 * @throws SQLite's own error while the file is locked by another process; see `isBusy`.
 */
export function openFile<R>(
  path: string,
  folder: StateFolder,
  machine: Machine,
  prepare: (db: Database, header: Header) => R,
): R {
  prepareFolder(folder, machine)
  const engine = findEngine()
  let db: Database | undefined
  try {
    makeDatabaseFile(path, folder)
    db = engine.open(path)
    // Each commit writes whole pages, and the row of a lock is small. Counts for a new file only.
    db.exec('PRAGMA page_size = 1024')
    // The event loop must not stand still while another process writes: we wait ourselves.
    db.exec('PRAGMA busy_timeout = 0')
    // No commit waits for the disk. A process that is killed damages nothing.
    if (folder.perBoot) db.exec('PRAGMA synchronous = OFF')
    // What a killed process left in the journal is undone by the first look. In this mode the
    // journal is then blanked. In the normal mode it would be deleted, and among several users only
    // root could make it again.
    if (folder.shared) db.exec('PRAGMA locking_mode = EXCLUSIVE')
    const header = readHeader(db)
    checkOurs(header, shownIn(folder, path))
    return prepare(db, header)
  } catch (error) {
    db?.close()
    // Others are opening it too, or writing: the caller waits, without holding up the event loop.
    throw isBusy(error) || error instanceof OtherBoot ? error : explain(error, folder, path)
  }
}

export function inodeOf(path: string): bigint {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? 0n
}

/** What a file says about itself. */
export interface Header {
  readonly application: number
  readonly version: number
  readonly tables: number
  readonly journal: string
}

/**
 * Read in one transaction: others may be making the file at this moment, and half of it must not be
 * taken for a whole.
 */
function readHeader(db: Database): Header {
  db.exec('BEGIN')
  try {
    return headerOf(db)
  } finally {
    db.exec('COMMIT')
  }
}

/** The same inside of a transaction that has begun. */
export function headerOf(db: Database): Header {
  return {
    tables: Number(single(db, 'SELECT count(*) AS value FROM sqlite_master')),
    application: Number(single(db, 'PRAGMA application_id', 'application_id')),
    version: Number(single(db, 'PRAGMA user_version', 'user_version')),
    journal: String(single(db, 'PRAGMA journal_mode', 'journal_mode')),
  }
}

function checkOurs({ application, version, tables }: Header, path: string): void {
  if (application !== APPLICATION_ID && (application !== 0 || version !== 0 || tables > 0)) {
    throw new StoreUnavailableError(
      `${path} belongs to another program. Choose another folder for the locks.`,
      { code: 'STORE_CONFIG', store: 'embedded' },
    )
  }
  if (application === APPLICATION_ID && version > VERSION) {
    throw newerFormat(path, { found: `format ${version}`, known: VERSION, store: 'embedded' })
  }
}

/**
 * WAL is three times as fast. It makes and deletes files as it goes, which several users cannot do
 * in one folder: they share a rollback journal that stays. Where SQLite is too old for WAL, the
 * rollback journal serves. Later processes follow the mode of the file. An old engine in a WAL file
 * turns it back, or refuses while others use it.
 *
 * `synchronous = NORMAL` may lose the last commits at a power failure, in WAL mode. That is
 * harmless: after a boot no lease of before counts, and tokens go on from the wall clock.
 */
function chooseJournal(
  db: Database,
  header: Header,
  sqliteVersion: string,
  file: DatabaseFile,
): string {
  if (!file.perBoot) db.exec('PRAGMA synchronous = NORMAL')
  db.exec('PRAGMA wal_autocheckpoint = 4000')
  const safe = compareVersions(sqliteVersion, WAL_SAFE) >= 0
  const wanted =
    safe && !file.shared && (header.tables === 0 || header.journal === 'wal') ? 'wal' : 'persist'
  if (header.journal === wanted) return wanted
  try {
    return String(single(db, `PRAGMA journal_mode = ${wanted}`, 'journal_mode'))
  } catch (error) {
    // Another process is making the file: the caller tries again when that is done. Or the disk is
    // full.
    if (safe || !isBusy(error)) throw error
    throw new StoreUnavailableError(
      `SQLite ${sqliteVersion} can damage ${file.database} while newer ones use it. Update Node, or use another folder.`,
      { code: 'STORE_CONFIG', store: 'embedded', cause: error },
    )
  }
}

function createTables(db: Database, machine: Machine, gone: ReadonlySet<string>): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(`
      ${SIGNATURE}
      CREATE TABLE IF NOT EXISTS locks (
        name TEXT PRIMARY KEY, state TEXT NOT NULL, busy INTEGER NOT NULL, touched_ms INTEGER NOT NULL
      );
      CREATE INDEX IF NOT EXISTS locks_busy ON locks (name) WHERE busy = 1;
      CREATE TABLE IF NOT EXISTS peers (
        id TEXT PRIMARY KEY, socket TEXT NOT NULL, inode TEXT NOT NULL, pid_namespace TEXT NOT NULL
      ) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    `)
    forgetEarlierBoot(db, machine, gone)
    db.exec('COMMIT')
  } catch (error) {
    rollBack(db)
    throw error
  }
}

/**
 * Stores that live for a moment do their part, too. One that finds the file locked leaves it to
 * another.
 */
function forgetWhatIsDue(db: Database, machine: Machine): void {
  if (!isForgettingDue(db, machine)) return
  try {
    db.exec('BEGIN IMMEDIATE')
    forgetSomeIdle(db, machine)
    db.exec('COMMIT')
  } catch (error) {
    rollBack(db)
    if (!isBusy(error)) throw error
  }
}

/**
 * What went wrong before is what counts: a second error in its place would say that asking again is
 * of no use.
 */
export function rollBack(db: Database): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // The engine has rolled back already, as it does when the disk is full.
  }
}

function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number)
  const right = b.split('.').map(Number)
  for (const [index, part] of left.entries()) {
    const difference = part - (right[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
