/** Making a row before it is locked. */
import { LockUsageError } from '../../errors.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { isConflict, isLockTimeout } from '../failures.js'
import {
  checkTransactional,
  type Dialect,
  type SqlRow,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import {
  checkKey,
  place,
  quote,
  ROW_KEYS,
  whereKey,
  type CheckedKey,
  type RowKey,
} from './row-key.js'

/** How a row is made that is not there. */
export interface CreateRow<Tx> {
  /**
   * The database once more: the row is made in a short transaction of its own, on another
   * connection.
   */
  readonly db: TransactionalDatabase<Tx>
  /** Values of other columns than the key's. */
  readonly values?: Readonly<Record<string, unknown>>
}

export const CREATE_KEYS: KnownKeys<CreateRow<unknown>> = { db: 1, values: 1 }

/** Each is refused for another one that went through. */
const MOST_TRIES = 5

/**
 * Makes a row if it is not there, in a transaction of its own. In the transaction that is to lock
 * it, two who miss the same row would both be granted the gap where it belongs, and then wait for
 * each other. And nothing may be read there before the lock is granted, since MySQL would go on
 * showing what was there then.
 */
export async function createRow<Tx>(row: RowKey, create: CreateRow<Tx>): Promise<void> {
  checkKeys('the row of createRow', row, ROW_KEYS)
  checkKeys('createRow', create, CREATE_KEYS)
  return createChecked(row, create, () => Promise.resolve())
}

/** @param check what is asked first, in that same transaction */
export async function createChecked<Tx>(
  row: RowKey,
  { db, values = {} }: CreateRow<Tx>,
  check: (session: SqlSession, key: CheckedKey) => Promise<void>,
): Promise<void> {
  checkTransactional(db)
  const { dialect } = db
  const key = checkKey(row, dialect)
  const make = async (tx: Tx): Promise<void> => {
    const session: SqlSession = {
      dialect,
      identity: db,
      query: (sql, given) => db.query(tx, sql, given),
    }
    await check(session, key)
    await insertMissing(session, key, values)
  }
  for (let tries = 1; ; tries += 1) {
    try {
      await db.transaction(make)
      return
    } catch (error) {
      // Where each transaction reads of one moment, as from REPEATABLE READ on, one that comes
      // second is refused for what the first has made meanwhile. The next one sees it.
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
  }
}

async function insertMissing(
  session: SqlSession,
  key: CheckedKey,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (await isThere(session, key)) return
  const columns = [...key.columns, ...Object.keys(values)]
  const insert = insertion(key, columns, session.dialect)
  await session.query(insert, [...key.values, ...Object.values(values)])
}

/** Whether the row exists. It does not wait: a locked row exists. */
export async function isThere(session: SqlSession, key: CheckedKey): Promise<boolean> {
  const there = `select 1 as there from ${key.table} where ${whereKey(key, session.dialect)}`
  if (session.dialect === 'postgres' || !(await locksWhatItReads(session))) {
    return (await session.query(there, key.values)).length > 0
  }
  try {
    return (await session.query(`${there} for update nowait`, key.values)).length > 0
  } catch (error) {
    if (isLockTimeout(error)) return true
    throw error
  }
}

/**
 * Whether a mere look waits for who has the row, perhaps the very transaction that it is made for:
 * SERIALIZABLE of MySQL is so. Elsewhere the look must lock nothing, or two who miss the row would
 * have the gap and then be in each other's way.
 */
async function locksWhatItReads(session: SqlSession): Promise<boolean> {
  // Under which of two names depends on the server and its age.
  const rows = await session.query("show session variables like '%isolation'", [])
  return (rows as SqlRow[]).some((row) => Object.values(row).includes('SERIALIZABLE'))
}

/**
 * Returns an insertion that changes nothing if the row exists. On MySQL not "insert ignore", which
 * ignores other errors too.
 */
function insertion(key: CheckedKey, columns: readonly string[], dialect: Dialect): string {
  const names = columns.map((column) => quote(column, dialect))
  const places = columns.map((_column, index) => place(index + 1, dialect))
  const insert = `insert into ${key.table} (${names.join(', ')}) values (${places.join(', ')}) `
  return (
    insert +
    (dialect === 'postgres'
      ? 'on conflict do nothing'
      : `on duplicate key update ${names[0]} = ${names[0]}`)
  )
}

/** @param made whether it has just been made, in another transaction */
export function missingRow({ text }: CheckedKey, made = false): LockUsageError {
  if (made) {
    return new LockUsageError(
      `There is no row ${text} that this transaction could see: it was made after the moment of which the transaction reads, ` +
        'as it does from REPEATABLE READ on, or was deleted at once. Lock it before anything else is read, or make it ' +
        'with createRow before the transaction begins.',
      { lock: text },
    )
  }
  return new LockUsageError(
    `There is no row ${text} to lock. Make it before, or let lockRow make it: { create: { db } }.`,
    { lock: text },
  )
}
