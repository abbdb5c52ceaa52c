/**
 * Optimistic changes, without a lock. Each change raises the version of the row. A change of an
 * older version writes nothing and is tried again. No caller waits for another, so it suits rows
 * that two callers seldom change at the same time.
 */
import { systemClock, systemRandom } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import { VersionConflictError } from '../../fence/errors.js'
import { checkDuration } from '../../options/lock-options.js'
import { describe } from '../../options/describe.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkWhole } from '../../options/whole-number.js'
import { checkTransactional, type SqlRow, type TransactionalDatabase } from '../database.js'
import { isConflict } from '../errors.js'
import { openTransaction, type AssertOpen } from '../open-transaction.js'
import { missingRow } from './missing.js'
import {
  checkKey,
  place,
  quote,
  ROW_KEYS,
  whereKey,
  type CheckedKey,
  type RowKey,
} from './row-key.js'

/** A row with a version, which each update makes larger. */
export interface VersionedRow extends RowKey {
  /** The column that counts changes: a whole number, never null. Default `version`. */
  readonly version?: string | undefined
}

/** The options of `optimistic`. */
export interface OptimisticOptions {
  /** How often the change is tried at most. Default 10. */
  readonly tries?: number | undefined
  /**
   * The pause after the first conflict, in milliseconds, of which a random part is taken. It
   * doubles each time. Default 5.
   */
  readonly backoffMs?: number | undefined
  /** The longest pause, in milliseconds. Default 500. */
  readonly maxBackoffMs?: number | undefined
  /** Ends the tries: the promise then rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
}

const OPTIMISTIC_KEYS: KnownKeys<OptimisticOptions> = {
  tries: 1,
  backoffMs: 1,
  maxBackoffMs: 1,
  signal: 1,
}
const VERSIONED_KEYS: KnownKeys<VersionedRow> = { ...ROW_KEYS, version: 1 }

/** The columns to change, with their values. Undefined leaves the row, or that column, as it is. */
export type Change<Row> = Partial<Row> | undefined

/**
 * Changes a row by the result of `change`, in a transaction. `change` gets the present row, and the
 * transaction for other writes. If another caller has changed the row meanwhile, everything is
 * rolled back and tried again. The same holds if the database ended the transaction for a deadlock
 * or a serialization failure. So `change` may run several times, and must do nothing that cannot be
 * undone.
 * @returns the row as it was written, with its new version
 * @throws VersionConflictError when it came too late each time.
 * @throws LockUsageError when there is no such row, or several, or it has no such version.
 * Otherwise what `change` or the client library
 *   throws.
 */
export async function optimistic<Row extends object = SqlRow, Tx = unknown>(
  db: TransactionalDatabase<Tx>,
  row: VersionedRow,
  change: (row: Row, tx: Tx) => Change<Row> | Promise<Change<Row>>,
  options: OptimisticOptions = {},
): Promise<Row> {
  checkTransactional(db)
  const target = targetOf(row, db)
  if (typeof change !== 'function') {
    throw new LockUsageError(
      `optimistic needs a function that makes the change, and not ${describe(change)}.`,
      {
        lock: target.key.text,
      },
    )
  }
  const { tries, backoffMs, maxBackoffMs, signal } = settings(options)
  let conflict: unknown
  for (let count = 0; count < tries; count += 1) {
    signal?.throwIfAborted()
    if (count > 0)
      await pause(
        Math.min(maxBackoffMs, backoffMs * 2 ** (count - 1)) * systemRandom.next(),
        signal,
      )
    try {
      return await openTransaction(db, 'holdfast_optimistic', (tx, assertOpen) =>
        attempt(db, tx, target, change, assertOpen),
      )
    } catch (error) {
      // Only what was thrown after a rollback gets here: nothing of this try is left.
      if (!(error instanceof Outdated) && !isConflict(error)) throw error
      conflict = error instanceof Outdated ? undefined : error
    }
  }
  throw new VersionConflictError(tries, { lock: target.key.text, cause: conflict })
}

interface Target {
  readonly key: CheckedKey
  readonly version: string
}

/** Thrown to roll back. No caller sees it. */
class Outdated extends Error {}

async function attempt<Row extends object, Tx>(
  db: TransactionalDatabase<Tx>,
  tx: Tx,
  { key, version }: Target,
  change: (row: Row, tx: Tx) => Change<Row> | Promise<Change<Row>>,
  assertOpen: AssertOpen,
): Promise<Row> {
  const { dialect } = db
  const found = await db.query(
    tx,
    `select * from ${key.table} where ${whereKey(key, dialect)}`,
    key.values,
  )
  const [row] = found
  if (row === undefined) throw missingRow(key)
  if (found.length > 1) throw severalRows(key)
  const before = versionOf(row as SqlRow, version, key)
  const changes = await change(row as Row, tx)
  // Before the row is written: outside of the transaction that write would stand. On PostgreSQL it
  // would fail.
  if (changes === undefined || dialect === 'mysql') await assertOpen()
  if (changes === undefined) return row as Row
  checkChange(changes, key)
  // Libraries disagree about undefined: one would write NULL, another fail.
  const entries = Object.entries(changes).filter(
    ([column, value]) => column !== version && value !== undefined,
  )
  const sets = entries.map(
    ([column], index) => `${quote(column, dialect)} = ${place(index + 1, dialect)}`,
  )
  const column = quote(version, dialect)
  const update =
    `update ${key.table} set ${[...sets, `${column} = ${column} + 1`].join(', ')} ` +
    `where ${whereKey(key, dialect, entries.length + 1)} and ${column} = ${before}`
  const values = [...entries.map(([, value]) => value), ...key.values]
  const changed = await countOfChanged(db, tx, update, values)
  if (changed === 0) throw new Outdated()
  // Another one has come since the look.
  if (changed > 1) throw severalRows(key)
  const after = typeof before === 'bigint' ? before + 1n : before + 1
  // As the library gave it: large numbers come as text from some.
  const given = typeof (row as SqlRow)[version] === 'string' ? String(after) : after
  return { ...(row as Row), ...Object.fromEntries(entries), [version]: given }
}

/** Rejects a change that would only raise the version, or be split into its elements. */
function checkChange(changes: unknown, { text }: CheckedKey): void {
  const isPlain = typeof changes === 'object' && changes !== null && !(Symbol.iterator in changes)
  if (isPlain && !(changes instanceof Date)) return
  throw new LockUsageError(
    `The change of ${text} must be an object of columns and their values, or undefined to leave ` +
      `the row as it is, not ${describe(changes)}.`,
    { lock: text },
  )
}

/** Returns how many rows the last update changed: MySQL reports that to the next statement. */
async function countOfChanged<Tx>(
  db: TransactionalDatabase<Tx>,
  tx: Tx,
  update: string,
  values: readonly unknown[],
): Promise<number> {
  if (db.dialect === 'postgres')
    return (await db.query(tx, `${update} returning 1 as changed`, values)).length
  await db.query(tx, update, values)
  const [row] = (await db.query(tx, 'select row_count() as changed', [])) as { changed: unknown }[]
  return Number(row?.changed)
}

function severalRows({ text }: CheckedKey): LockUsageError {
  return new LockUsageError(
    `There are several rows ${text}, and a change is made from one of them alone. Name the columns of a unique index, with values ` +
      'of their own types: to MySQL the number 7 is as much as the texts "7" and "007".',
    { lock: text },
  )
}

/**
 * A number that is written into the SQL, so it must be nothing else. Libraries give large ones as
 * text.
 */
function versionOf(row: SqlRow, version: string, { table, text }: CheckedKey): number | bigint {
  const value = row[version]
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  if (typeof value === 'bigint') return value
  if (typeof value === 'string' && /^-?\d{1,19}$/.test(value)) return BigInt(value)
  throw new LockUsageError(
    `The row has no whole number in "${version}" (${describe(value)}), which optimistic compares. ` +
      `Add the column: alter table ${table} add ${version} bigint not null default 0.`,
    { lock: text },
  )
}

function targetOf<Tx>(row: VersionedRow, { dialect }: TransactionalDatabase<Tx>): Target {
  checkKeys('the row of optimistic', row, VERSIONED_KEYS)
  const key = checkKey(row, dialect)
  const { version = 'version' } = row
  quote(version, dialect)
  return { key, version }
}

function settings(options: OptimisticOptions) {
  checkKeys('optimistic', options, OPTIMISTIC_KEYS)
  const { tries = 10, backoffMs = 5, maxBackoffMs = 500, signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new LockUsageError('signal must be an AbortSignal.')
  }
  checkWhole('tries', tries)
  checkDuration('backoffMs', backoffMs, { min: 0 })
  checkDuration('maxBackoffMs', maxBackoffMs, { min: 0 })
  return { tries, backoffMs, maxBackoffMs, signal }
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      timer.cancel()
      reject(signal?.reason as Error)
    }
    const timer = systemClock.timer(delayMs, () => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    })
    signal?.addEventListener('abort', aborted, { once: true })
  })
}
