import { StoreUnavailableError, type LockError } from '../../errors.js'
import { clientOf } from './clients.js'
import { codeOf, explain } from './errors.js'
import type { PgPool, PostgresJs } from './pools.js'
import { DEFAULT_SCHEMA, postgresSchema } from './schema.js'

/**
 * Makes the schema, as the SQL of `postgresSchema()` does, in one transaction. It may be repeated.
 * @throws LockError when the schema cannot be named so, or the database does not let us make it.
 */
export async function migratePostgres(
  pool: PgPool | PostgresJs,
  schema: string = DEFAULT_SCHEMA,
): Promise<void> {
  const sql = postgresSchema(schema)
  try {
    await clientOf(pool).script(sql)
  } catch (error) {
    throw codeOf(error) === '42501' ? denied(error, schema) : explain(error, schema)
  }
}

/** Whoever makes the schema needs other rights than those who use it. */
function denied(cause: unknown, schema: string): LockError {
  const text =
    `PostgreSQL refused: ${(cause as Error).message}. To make the schema "${schema}", this user needs CREATE on the ` +
    'database, or has to own the schema. Else have its owner run the SQL of postgresSchema().'
  return new StoreUnavailableError(text, { store: 'postgres', code: 'STORE_AUTH', cause })
}
