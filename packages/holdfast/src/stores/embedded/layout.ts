/**
 * The layout of the folder, as `locks.db` says it: how many database files keep the locks. It holds
 * no locks itself, so no process writes to it once it is made. A process that stopped in a
 * transaction blocks only one of the other files.
 *
 * The first format kept all locks in `locks.db`. Its `user_version` makes a process of that format
 * refuse the folder. The missing tables end the transactions of such a process. So old and new
 * processes never use different files.
 */
import { StoreUnavailableError } from '../../errors.js'
import {
  FILES,
  fileIndexOf,
  databaseFiles,
  type DatabaseFile,
  type StateFolder,
} from './directory.js'
import { single, type Database } from './engine.js'
import { writeFact } from './forgetting.js'
import type { Machine } from './machine.js'
import {
  headerOf,
  inodeOf,
  openDatabase,
  openFile,
  rollBack,
  SIGNATURE,
  VERSION,
} from './schema.js'

export class Layout {
  readonly #folder: StateFolder
  readonly #machine: Machine
  /** The layout file that was found to be right. */
  #checkedInode = 0n

  constructor(folder: StateFolder, machine: Machine) {
    this.#folder = folder
    this.#machine = machine
  }

  /**
   * Makes the layout file where it is missing, and splits a database of the first format. Cheap
   * when nothing has changed.
   * @throws StoreUnavailableError (`STORE_FORMAT`) for a layout that this version does not know;
   * nothing is changed then.
   * @throws SQLite's own error while another process does the same; see `isBusy`.
   */
  check(): void {
    const path = this.#folder.layout
    const inode = inodeOf(path)
    if (inode !== 0n && inode === this.#checkedInode) return
    const files = openFile(path, this.#folder, this.#machine, (db, { version }) => {
      // The next statement gives the file up again. The engine for Node 20 keeps what is closed
      // open for a while.
      if (this.#folder.shared)
        db.exec('PRAGMA journal_mode = persist; PRAGMA locking_mode = NORMAL')
      if (version < VERSION) this.#make(db)
      const count = Number(single(db, "SELECT value FROM facts WHERE name = 'files'"))
      db.close()
      return count
    })
    if (files !== FILES) throw this.#otherLayout(files)
    this.#checkedInode = inodeOf(path)
  }

  #make(db: Database): void {
    db.exec('BEGIN IMMEDIATE')
    try {
      const { version, tables } = headerOf(db)
      // Another process may have made it since the header was read.
      if (version < VERSION) {
        if (tables > 0) this.#split(db)
        db.exec(`
          ${SIGNATURE}
          CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        `)
        writeFact(db, 'files', FILES)
      }
      db.exec('COMMIT')
    } catch (error) {
      rollBack(db)
      throw error
    }
  }

  /**
   * Moves what the first format knows into the files, leases and queues included. Until the end
   * commits, no process reads the files. An attempt that was killed half-way starts again from the
   * beginning.
   */
  #split(db: Database): void {
    const all = (table: string): readonly Row[] =>
      db.prepare(`SELECT * FROM ${table}`).all() as Row[]
    const [locks, peers, facts] = [all('locks'), all('peers'), all('facts')]
    for (const [index, file] of databaseFiles(this.#folder).entries()) {
      const own = locks.filter(({ name }) => fileIndexOf(String(name)) === index)
      this.#fill(file, { locks: own, peers, facts })
    }
    db.exec('DROP TABLE locks; DROP TABLE peers; DROP TABLE facts')
  }

  #fill(file: DatabaseFile, tables: Readonly<Record<string, readonly Row[]>>): void {
    const { db } = openDatabase(file, this.#machine)
    try {
      db.exec('BEGIN IMMEDIATE')
      for (const [table, rows] of Object.entries(tables)) {
        db.exec(`DELETE FROM ${table}`)
        for (const row of rows) insert(db, table, row)
      }
      db.exec('COMMIT')
    } finally {
      // It rolls back what was not committed.
      db.close()
    }
  }

  #otherLayout(files: number): StoreUnavailableError {
    return new StoreUnavailableError(
      `${this.#folder.directory} keeps its locks in ${files} files, and this Holdfast knows ${FILES}. ` +
        'Update Holdfast in this program, or give it a folder of its own.',
      { code: 'STORE_FORMAT', store: 'embedded' },
    )
  }
}

type Row = Readonly<Record<string, string | number>>

function insert(db: Database, table: string, row: Row): void {
  const columns = Object.keys(row)
  const values = columns.map(() => '?').join(', ')
  db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values})`).run(
    ...Object.values(row),
  )
}
