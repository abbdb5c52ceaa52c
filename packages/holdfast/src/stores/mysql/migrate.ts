import { poolOf, statement, type Connections, type MysqlCallbackPool, type MysqlPool } from './clients.js'
import { DEFAULT_PREFIX, schemaStatements } from './schema.js'

/** Two clients may make the schema at the same moment. */
const MIGRATION_LOCK = 'holdfast_migration'

/**
 * Makes tables and procedures, as the SQL of `mysqlSchema()` does. Each statement commits by itself. All may be repeated,
 * so a migration that was cut short does no harm.
 * @throws LockUsageError when the prefix cannot be one. Otherwise what the client library throws.
 */
export async function migrateMysql(
  pool: MysqlPool | MysqlCallbackPool,
  prefix: string = DEFAULT_PREFIX,
): Promise<void> {
  await migrate(poolOf(pool), prefix)
}

export async function migrate(pool: Connections, prefix: string): Promise<void> {
  const statements = schemaStatements(prefix)
  const connection = await pool.getConnection()
  try {
    await connection.query(statement(`select get_lock('${MIGRATION_LOCK}', 30)`))
    for (const sql of statements) await connection.query(statement(sql))
  } finally {
    // With its connection the lock is gone.
    connection.destroy()
  }
}
