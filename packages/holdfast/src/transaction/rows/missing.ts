/** Making a row before it is locked. */
import { LockUsageError } from '../../errors.js'
import { isConflict, isLockTimeout } from '../failures.js'
import { checkTransactional, type Dialect, type SqlRow, type TransactionalDatabase } from '../database.js'
import { checkKey, place, quote, whereKey, type CheckedKey, type RowKey } from './row-key.js'

/** How a row is made that is not there. */
export interface CreateRow<Tx> {
  /** The database once more: the row is made in a short transaction of its own, on another connection. */
  readonly db: TransactionalDatabase<Tx>
  /** Values of other columns than the key's. */
  readonly values?: Readonly<Record<string, unknown>>
}

/** Each is refused for another one that went through. */
const MOST_TRIES = 5

/**
 * Makes a row if it is not there, in a transaction of its own. In the transaction that is to lock it, two who miss the same
 * row would both be granted the gap where it belongs, and then wait for each other. And nothing may be read there before
 * the lock is granted, since MySQL would go on showing what was there then.
 */
export async function createRow<Tx>(row: RowKey, { db, values = {} }: CreateRow<Tx>): Promise<void> {
  checkTransactional(db)
  const { dialect } = db
  const key = checkKey(row, dialect)
  const make = (tx: Tx): Promise<void> => insertMissing(db, tx, key, values)
  for (let tries = 1; ; tries += 1) {
    try {
      await db.transaction(make)
      return
    } catch (error) {
      // Where each transaction reads of one moment, as from REPEATABLE READ on, one that comes second is refused for what the
      // first has made meanwhile. The next one sees it.
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
  }
}

async function insertMissing<Tx>(
  db: TransactionalDatabase<Tx>,
  tx: Tx,
  key: CheckedKey,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { dialect } = db
  const query: Query = (sql, given) => db.query(tx, sql, given)
  if (await isThere(query, key, dialect)) return
  const columns = [...key.columns, ...Object.keys(values)]
  await db.query(tx, insertion(key, columns, dialect), [...key.values, ...Object.values(values)])
}

type Query = (sql: string, values: readonly unknown[]) => Promise<readonly unknown[]>

/** Waits for nobody: a row that is locked is there. */
async function isThere(query: Query, key: CheckedKey, dialect: Dialect): Promise<boolean> {
  const there = `select 1 as there from ${key.table} where ${whereKey(key, dialect)}`
  if (dialect === 'postgres' || !(await locksWhatItReads(query))) {
    return (await query(there, key.values)).length > 0
  }
  try {
    return (await query(`${there} for update nowait`, key.values)).length > 0
  } catch (error) {
    if (isLockTimeout(error)) return true
    throw error
  }
}

/**
 * Whether a mere look waits for who has the row, perhaps the very transaction that it is made for: SERIALIZABLE of MySQL is so.
 * Elsewhere the look must lock nothing, or two who miss the row would have the gap and then be in each other's way.
 */
async function locksWhatItReads(query: Query): Promise<boolean> {
  // Under which of two names depends on the server and its age.
  const rows = await query("show session variables like '%isolation'", [])
  return (rows as SqlRow[]).some((row) => Object.values(row).includes('SERIALIZABLE'))
}

/** Whoever comes second changes nothing. On MySQL not "insert ignore", which ignores much more than that. */
function insertion(key: CheckedKey, columns: readonly string[], dialect: Dialect): string {
  const names = columns.map((column) => quote(column, dialect))
  const places = columns.map((_column, index) => place(index + 1, dialect))
  const insert = `insert into ${key.table} (${names.join(', ')}) values (${places.join(', ')}) `
  return (
    insert +
    (dialect === 'postgres' ? 'on conflict do nothing' : `on duplicate key update ${names[0]} = ${names[0]}`)
  )
}

export function missingRow({ text }: CheckedKey): LockUsageError {
  return new LockUsageError(
    `There is no row ${text} to lock. Make it before, or let lockRow make it: { create: { db } }.`,
    { lock: text },
  )
}
