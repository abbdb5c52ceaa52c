/** Creates and updates the tables and procedures of the MySQL store. */
import { StoreUnavailableError, type LockError } from '../../../errors.js'
import { newerFormat } from '../../../store/errors.js'
import {
  poolOf,
  statement,
  type Connections,
  type MysqlCallbackPool,
  type MysqlConnection,
  type MysqlPool,
} from './clients.js'
import { explain, isDenied, isUnmigrated } from '../errors.js'
import { SCHEMA_FORMAT } from '../rule/format.js'
import { lendOutsideTransaction } from './outside-transaction.js'
import { dropRoutine, factOf, noteRoutine, ROUTINES } from '../rule/routines.js'
import { checkPrefix, DEFAULT_PREFIX, TABLE_STATEMENTS, withPrefix } from '../rule/schema.js'

/** Two clients may migrate at the same moment. */
const MIGRATION_LOCK = 'holdfast_migration'

/**
 * Creates or updates the tables and procedures, as the SQL of `mysqlSchema()` does. Each statement
 * commits by itself. All may be repeated, so a migration that was cut short does no harm.
 * @throws LockError for a prefix that is not valid, or when the database refuses.
 */
export async function migrateMysql(
  pool: MysqlPool | MysqlCallbackPool,
  prefix: string = DEFAULT_PREFIX,
): Promise<void> {
  await migrate(poolOf(pool), prefix)
}

/** A migration needs other rights than the use of the tables. */
function denied(cause: unknown): LockError {
  const text =
    `The database refused: ${(cause as Error).message}. Check user and password. To migrate, the ` +
    'user needs CREATE, CREATE ROUTINE, ALTER ROUTINE, SELECT, INSERT and UPDATE on the database.'
  return new StoreUnavailableError(text, { store: 'mysql', code: 'STORE_AUTH', cause })
}

/**
 * @param waitSeconds how long another migration may keep this one waiting
 * @throws LockError which names the rights that a migration needs.
 */
export async function migrate(pool: Connections, prefix: string, waitSeconds = 30): Promise<void> {
  checkPrefix(prefix)
  try {
    await migrateOnce(pool, prefix, waitSeconds)
  } catch (error) {
    throw isDenied(error) ? denied(error) : explain(error, prefix)
  }
}

async function migrateOnce(pool: Connections, prefix: string, waitSeconds: number): Promise<void> {
  const connection = await lendOutsideTransaction(pool)
  try {
    await lockOutOthers(connection, waitSeconds)
    await checkFormat(connection, prefix)
    for (const sql of TABLE_STATEMENTS) await run(connection, sql, prefix)
    await migrateRoutines(connection, prefix)
  } finally {
    // The lock ends with its connection.
    connection.destroy()
  }
}

async function lockOutOthers(connection: MysqlConnection, waitSeconds: number): Promise<void> {
  const sql = `select get_lock('${MIGRATION_LOCK}', ${waitSeconds}) as is_ours`
  const [rows] = await connection.query(statement(sql))
  const [row] = rows as { readonly is_ours: unknown }[]
  if (Number(row?.is_ours) === 1) return
  throw new StoreUnavailableError(
    `Another client has been migrating for ${waitSeconds} seconds. Try again later.`,
    { store: 'mysql' },
  )
}

/**
 * Replaces the procedures whose text has changed under their name. It drops only what exists, since
 * dropping takes a right that creating does not take. A migration that ends between a drop and its
 * creation is completed by the next one.
 */
async function migrateRoutines(connection: MysqlConnection, prefix: string): Promise<void> {
  const existing = await existingRoutines(connection, prefix)
  const facts = await readFacts(connection, prefix)
  for (const routine of ROUTINES) {
    const noted = facts.get(factOf(routine))
    const isCurrent = noted === routine.digest
    const { name } = routine
    if (!isCurrent && existing.has(withPrefix(name, prefix)))
      await run(connection, dropRoutine(name), prefix)
    await run(connection, routine.sql, prefix)
    if (!isCurrent) await run(connection, noteRoutine(routine, noted === undefined), prefix)
  }
}

function run(connection: MysqlConnection, sql: string, prefix: string): Promise<unknown> {
  return connection.query(statement(withPrefix(sql, prefix)))
}

async function existingRoutines(
  connection: MysqlConnection,
  prefix: string,
): Promise<ReadonlySet<string>> {
  const sql =
    'select routine_name as name from information_schema.routines ' +
    'where routine_schema = database() and left(routine_name, ?) = ?'
  const [rows] = await connection.query(statement(sql, [String(prefix.length), prefix]))
  return new Set((rows as { readonly name: string }[]).map(({ name }) => name))
}

async function readFacts(
  connection: MysqlConnection,
  prefix: string,
): Promise<ReadonlyMap<string, string>> {
  const [rows] = await run(connection, 'select name, value from holdfast_facts', prefix).then(
    (answer) => answer as [{ readonly name: string; readonly value: string }[]],
  )
  return new Map(rows.map(({ name, value }) => [name, value]))
}

/** @throws StoreUnavailableError (`STORE_FORMAT`) when a newer version made the tables. */
async function checkFormat(connection: MysqlConnection, prefix: string): Promise<void> {
  const [[row]] = (await connection
    .query(statement(`select value from ${prefix}facts where name = 'format'`))
    .catch(noRows)) as [{ readonly value: string }[]]
  if (row === undefined || Number(row.value) <= SCHEMA_FORMAT) return
  const found = `format ${row.value}`
  throw newerFormat(`The schema "${prefix}…"`, { found, known: SCHEMA_FORMAT, store: 'mysql' })
}

/** The table does not exist before the first migration. */
function noRows(error: unknown): [never[]] {
  if (isUnmigrated(error)) return [[]]
  throw error
}
