import { StoreUnavailableError, type LockError } from '../../errors.js'
import {
  poolOf,
  statement,
  type Connections,
  type MysqlCallbackPool,
  type MysqlPool,
} from './clients.js'
import { explain, isDenied } from './errors.js'
import { checkFormat } from './format.js'
import { DEFAULT_PREFIX, schemaStatements } from './schema.js'

/** Two clients may make the schema at the same moment. */
const MIGRATION_LOCK = 'holdfast_migration'

/**
 * Makes tables and procedures, as the SQL of `mysqlSchema()` does. Each statement commits by
 * itself. All may be repeated, so a migration that was cut short does no harm.
 * @throws LockError when the prefix cannot be one, or the database does not let us make them.
 */
export async function migrateMysql(
  pool: MysqlPool | MysqlCallbackPool,
  prefix: string = DEFAULT_PREFIX,
): Promise<void> {
  try {
    await migrate(poolOf(pool), prefix)
  } catch (error) {
    throw isDenied(error) ? denied(error) : explain(error, prefix)
  }
}

/** Whoever makes tables needs other rights than those who use them. */
function denied(cause: unknown): LockError {
  const text =
    `The database refused: ${(cause as Error).message}. Check user and password; to make tables and procedures the user ` +
    'needs CREATE and CREATE ROUTINE on the database.'
  return new StoreUnavailableError(text, { store: 'mysql', code: 'STORE_AUTH', cause })
}

export async function migrate(pool: Connections, prefix: string): Promise<void> {
  const statements = schemaStatements(prefix)
  const connection = await pool.getConnection()
  try {
    await connection.query(statement(`select get_lock('${MIGRATION_LOCK}', 30)`))
    await checkFormat(connection, prefix)
    for (const sql of statements) await connection.query(statement(sql))
  } finally {
    // With its connection the lock is gone.
    connection.destroy()
  }
}
