/**
 * Locks on single rows, by SELECT … FOR UPDATE in the caller's own transaction. They end with the
 * transaction, by its commit or otherwise, and so need no lease, no renewal and no token.
 */
import { withTimeout } from '../../clock/with-timeout.js'
import { isLockError, LockTimeoutError } from '../../errors.js'
import { checkWait } from '../../options/lock-options.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkTransactional, type SqlRow, type SqlSession } from '../database.js'
import { sessionOf, type SqlTransaction } from '../session-of.js'
import { isLockTimeout, isWaitTimeout } from '../errors.js'
import { oneAtATime } from './one-at-a-time.js'
import {
  CREATE_KEYS,
  createChecked,
  createRow,
  isThere,
  missingRow,
  type CreateRow,
} from './missing.js'
import { checkKey, ROW_KEYS, whereKey, type CheckedKey, type RowKey } from './row-key.js'
import { checkUniqueKey } from './unique-key.js'
import { adviceOn, withinWait } from './within-wait.js'

/** The options of `lockRow`. */
export interface LockRowOptions<Tx> {
  /**
   * How long to wait while another transaction has the row, in milliseconds; 0 looks once. MySQL
   * counts in whole seconds, rounded up. Default: for as long as the server lets (`lock_timeout`,
   * `innodb_lock_wait_timeout`).
   */
  readonly waitMs?: number | undefined
  /** Creates the row if it does not exist. */
  readonly create?: CreateRow<Tx>
}

const TRY_KEYS: KnownKeys<TryOptions<unknown>> = { create: 1 }
const LOCK_ROW_KEYS: KnownKeys<LockRowOptions<unknown>> = { waitMs: 1, ...TRY_KEYS }

type TryOptions<Tx> = Pick<LockRowOptions<Tx>, 'create'>

/**
 * Locks a row until the transaction ends, and resolves to its present content. Await it before any
 * other statement of this transaction: on PostgreSQL a wait that times out undoes what was written
 * meanwhile. Calls side by side run one after the other. PostgreSQL always waits for a lock on the
 * whole table, such as that of ALTER TABLE, also with `tryLockRow` and `waitMs: 0`.
 * @throws LockTimeoutError when another transaction kept the row for longer than `waitMs`. The
 * transaction continues. Only if the server's own limit came first is it aborted on PostgreSQL.
 * @throws LockUsageError when there is no such row, or no unique index over columns of the key.
 * Any other error, such as a deadlock, is that of the client library.
 */
export async function lockRow<Row extends object = SqlRow, Tx = unknown>(
  tx: SqlTransaction,
  row: RowKey,
  options: LockRowOptions<Tx> = {},
): Promise<Row> {
  checkArguments('lockRow', row, options, LOCK_ROW_KEYS)
  const session = sessionOf(tx)
  const waitMs = checkWait(options.waitMs, Infinity)
  return oneAtATime(tx, () => lockWithin<Row, Tx>(session, row, options, waitMs))
}

async function lockWithin<Row, Tx>(
  session: SqlSession,
  row: RowKey,
  options: LockRowOptions<Tx>,
  waitMs: number,
): Promise<Row> {
  const { text } = checkKey(row, session.dialect)
  try {
    const key = await prepared(session, row, options.create, waitMs)
    const made = options.create !== undefined
    const locked =
      waitMs === 0
        ? await lockNow<Row>(session, key, made)
        : await lockSoon<Row>(session, key, made, waitMs)
    if (locked) return locked
  } catch (error) {
    if (isLockTimeout(error) && !isLockError(error)) throw stillBusy(text, waitMs, error)
    throw error
  }
  throw stillBusy(text, waitMs)
}

async function lockSoon<Row>(
  session: SqlSession,
  key: CheckedKey,
  made: boolean,
  waitMs: number,
): Promise<Row> {
  const rows = await withinWait(session, waitMs, async (inner) => {
    try {
      return await inner.query(forUpdate(session, key), key.values)
    } catch (error) {
      await checkGoesOn(inner, key, waitMs, error)
      throw error
    }
  })
  if (rows.length === 0) throw missingRow(key, made)
  return rows[0] as Row
}

/**
 * Locks a row if no other transaction has it. Otherwise it resolves to undefined, and the
 * transaction continues.
 * @throws As `lockRow` does, except for a locked row. LockTimeoutError if MariaDB then rolls the
 * transaction back (`innodb_rollback_on_timeout`).
 */
export async function tryLockRow<Row extends object = SqlRow, Tx = unknown>(
  tx: SqlTransaction,
  row: RowKey,
  options: TryOptions<Tx> = {},
): Promise<Row | undefined> {
  checkArguments('tryLockRow', row, options, TRY_KEYS)
  const session = sessionOf(tx)
  return oneAtATime(tx, async () => {
    const key = await prepared(session, row, options.create)
    return lockNow<Row>(session, key, options.create !== undefined)
  })
}

function checkArguments<Tx>(
  call: string,
  row: RowKey,
  options: TryOptions<Tx>,
  known: KnownKeys<TryOptions<Tx>>,
): void {
  checkKeys(`the row of ${call}`, row, ROW_KEYS)
  checkKeys(call, options, known)
  if (options.create) checkKeys(`create of ${call}`, options.create, CREATE_KEYS)
}

async function prepared<Tx>(
  session: SqlSession,
  row: RowKey,
  create: CreateRow<Tx> | undefined,
  waitMs = Infinity,
): Promise<CheckedKey> {
  const key = checkKey(row, session.dialect)
  if (create) checkTransactional(create.db)
  await session.checkBegun?.()
  const made = create !== undefined && (await readsOfOneMoment(session))
  // This comes first: with its first statement the transaction chooses the moment from which it
  // reads, and the check is such a statement. So the check is made there, too.
  if (made) await createInTime(key, createChecked(row, create, checkUniqueKey), waitMs)
  await checkUniqueKey(session, key)
  if (!create || made) return key
  // On PostgreSQL nothing is lost by a look. A row that is there then needs no other connection.
  const look = (): Promise<boolean> => withinWait(session, waitMs, (inner) => isThere(inner, key))
  if (session.dialect === 'postgres' && (await look())) return key
  await createInTime(key, createRow(row, create), waitMs)
  return key
}

/** Whether what this transaction reads first decides of which moment it reads for good. */
async function readsOfOneMoment(session: SqlSession): Promise<boolean> {
  if (session.dialect === 'mysql') return false
  // SHOW is no query, and decides nothing yet.
  const rows = await session.query('show transaction_isolation', [])
  return (rows as SqlRow[]).some(
    (row) => !Object.values(row).some((level) => String(level).startsWith('read ')),
  )
}

/**
 * Where all connections of a pool are taken by transactions that want one more for this, none would
 * ever be free.
 */
function createInTime(
  { text }: CheckedKey,
  creation: Promise<void>,
  waitMs: number,
): Promise<void> {
  if (waitMs === 0 || waitMs === Infinity) return creation
  const advice =
    'The row is created first, in a transaction of its own, which got no connection or waited for ' +
    'another transaction that creates it. Give the pool more connections than there are ' +
    'transactions at a time, or wait longer (waitMs).'
  return withTimeout(creation, waitMs, () => new LockTimeoutError(waitMs, { lock: text, advice }))
}

/**
 * Locks a row without a wait. NOWAIT would abort the transaction on PostgreSQL, and SKIP LOCKED on
 * MySQL does not show whether a skipped row exists.
 */
function lockNow<Row>(
  session: SqlSession,
  key: CheckedKey,
  made: boolean,
): Promise<Row | undefined> {
  return session.dialect === 'postgres'
    ? skipLocked<Row>(session, key, made)
    : noWait<Row>(session, key, made)
}

async function skipLocked<Row>(
  session: SqlSession,
  key: CheckedKey,
  made: boolean,
): Promise<Row | undefined> {
  const locked = await session.query(`${forUpdate(session, key)} skip locked`, key.values)
  if (locked.length > 0) return locked[0] as Row
  const there = `select 1 as there from ${key.table} where ${whereKey(key, session.dialect)}`
  if ((await session.query(there, key.values)).length > 0) return undefined
  throw missingRow(key, made)
}

async function noWait<Row>(
  session: SqlSession,
  key: CheckedKey,
  made: boolean,
): Promise<Row | undefined> {
  try {
    const locked = await session.query(`${forUpdate(session, key)} nowait`, key.values)
    if (locked.length > 0) return locked[0] as Row
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    await checkGoesOn(session, key, 0, error)
    return undefined
  }
  throw missingRow(key, made)
}

/**
 * @throws LockTimeoutError when the server has rolled back the whole transaction, and not the
 * statement alone.
 */
async function checkGoesOn(
  session: SqlSession,
  { text }: CheckedKey,
  waitMs: number,
  cause: unknown,
) {
  if (!isWaitTimeout(cause)) return
  const [row] = await session.query('select @@innodb_rollback_on_timeout as whole', [])
  if (Number(Object.values(row as SqlRow)[0]) !== 1) return
  const advice =
    'Another transaction has it, and the server rolled this transaction back, since its innodb_rollback_on_timeout is ON. ' +
    'Let this error pass and begin again.'
  throw new LockTimeoutError(waitMs, { lock: text, advice, cause })
}

function forUpdate({ dialect }: SqlSession, key: CheckedKey): string {
  return `select * from ${key.table} where ${whereKey(key, dialect)} for update`
}

function stillBusy(text: string, waitMs: number, cause?: unknown): LockTimeoutError {
  return new LockTimeoutError(waitMs, { lock: text, advice: adviceOn(waitMs), cause })
}
