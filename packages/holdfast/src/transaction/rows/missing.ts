/** Making a row before it is locked. */
import { LockUsageError } from '../../errors.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { isConflict, isLockTimeout } from '../errors.js'
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

/** How a missing row is created. */
export interface CreateRow<Tx> {
  /**
   * The database again. It creates the row in a short transaction of its own, on another
   * connection.
   */
  readonly db: TransactionalDatabase<Tx>
  /** Values of other columns than the key's. */
  readonly values?: Readonly<Record<string, unknown>>
}

export const CREATE_KEYS: KnownKeys<CreateRow<unknown>> = { db: 1, values: 1 }

/** How often a creation is tried. Each conflict means that another transaction has committed. */
const MOST_TRIES = 5

/**
 * Creates a row if it is missing, in a transaction of its own. Two transactions that miss the same
 * row and are to lock it would both be granted the gap where it belongs. They would then wait for
 * each other. The transaction that is to lock the row also must not read it before the lock is
 * granted. MySQL would keep showing it the rows of that earlier moment.
 */
export async function createRow<Tx>(row: RowKey, create: CreateRow<Tx>): Promise<void> {
  checkKeys('the row of createRow', row, ROW_KEYS)
  checkKeys('createRow', create, CREATE_KEYS)
  return createChecked(row, create, () => Promise.resolve())
}

/** @param check runs first, in that same transaction */
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
      // From REPEATABLE READ on, a transaction reads the state of one moment. The database refuses
      // it if another one has made the row meanwhile. The next try sees that row.
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
 * Returns whether a plain read locks, and so waits for the holder of the row. That holder may be
 * the very transaction for which the row is created. MySQL reads like that in SERIALIZABLE.
 * Elsewhere the read must lock nothing. Two transactions that miss the row would both lock the gap,
 * and then wait for each other.
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
