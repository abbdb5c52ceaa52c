/**
 * The layout of the folder, as `locks.db` says it: how many database files keep the locks. It holds
 * no locks itself, so no process writes to it once it is made. A process that stopped in a
 * transaction blocks only one of the other files.
 */
import { StoreUnavailableError } from '../../../errors.js'
import { FILES, type StateFolder } from '../folder/state-folder.js'
import { single, type Database } from './engine.js'
import { writeFact } from './forgetting.js'
import type { Machine } from '../folder/machine.js'
import { headerOf, inodeOf, openFile, rollBack, SIGNATURE, VERSION } from './schema.js'

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
   * Makes the layout file where it is missing. Cheap when nothing has changed.
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
      // Another process may have made it since the header was read.
      if (headerOf(db).version < VERSION) {
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

  #otherLayout(files: number): StoreUnavailableError {
    return new StoreUnavailableError(
      `${this.#folder.directory} keeps its locks in ${files} files, and this Holdfast knows ${FILES}. ` +
        'Update Holdfast in this program, or give it a folder of its own.',
      { code: 'STORE_FORMAT', store: 'embedded' },
    )
  }
}
