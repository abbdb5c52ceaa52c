/**
 * The statements of a pair of the embedded store alone, which no such store can do without:
 * `embedded-bare.js PROCESSES FILES`. Each process has a row of its own. It reads the row and saves
 * it, in two transactions a pair, with the same settings of SQLite.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { followLeader, leadProcesses, type Run } from '../processes.js'

interface Statement {
  run(...values: readonly (string | number)[]): unknown
  get(...values: readonly (string | number)[]): unknown
}

interface Database {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** About as long as the state of a lock that is held. */
const STATE = 'x'.repeat(400)

const [processes = '1', files = '1', directory] = process.argv.slice(2)

if (directory === undefined) await leadProcesses(import.meta.filename, [processes, files])
else await work(directory)

async function work(folder: string): Promise<void> {
  const db = await untilFree(() => open(join(folder, `${process.pid % Number(files)}.db`)))
  const begin = db.prepare('BEGIN IMMEDIATE')
  const load = db.prepare('SELECT rowid AS row, state FROM locks WHERE name = ?')
  const save = db.prepare('UPDATE locks SET state = ?, touched_ms = ? WHERE rowid = ?')
  const commit = db.prepare('COMMIT')
  const name = String(process.pid)
  await untilFree(() =>
    db.exec(`INSERT INTO locks VALUES ('${name}', '${STATE}', 1, ${Date.now()})`),
  )
  let step = 1e9
  const transact = async (): Promise<void> => {
    await untilFree(() => begin.run())
    const { row } = load.get(name) as { row: number }
    save.run(STATE + String((step += 1)), Date.now(), row)
    commit.run()
  }
  const run: Run = async (forMs, most) => {
    const endMs = performance.now() + forMs
    let pairs = 0
    for (; performance.now() < endMs && pairs < most; pairs += 1) {
      await transact()
      await transact()
    }
    return pairs
  }
  await followLeader(run)
  db.close()
  process.disconnect()
}

/** Waits as the store does while another process writes. */
async function untilFree<R>(work: () => R): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    try {
      return work()
    } catch (error) {
      if (!String(error).includes('database is locked')) throw error
    }
    if (tries <= 8) await nextTurn()
    else await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

function open(path: string): Database {
  const db = openFile(path)
  db.exec('PRAGMA page_size = 1024; PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL')
  db.exec('PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 4000')
  db.exec(`CREATE TABLE IF NOT EXISTS locks (
    name TEXT PRIMARY KEY, state TEXT NOT NULL, busy INTEGER NOT NULL, touched_ms INTEGER NOT NULL
  )`)
  return db
}

function openFile(path: string): Database {
  const builtIn = process.getBuiltinModule('node:sqlite') as object | undefined
  const { DatabaseSync } = (builtIn ??
    createRequire(import.meta.url)('@photostructure/sqlite')) as {
    DatabaseSync: new (path: string) => Database
  }
  return new DatabaseSync(path)
}
