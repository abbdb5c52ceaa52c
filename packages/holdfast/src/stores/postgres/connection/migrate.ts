import { StoreUnavailableError, type LockError } from '../../../errors.js'
import { clientOf } from './clients.js'
import type { Client } from './port.js'
import { codeOf, explain } from '../errors.js'
import type { PgPool, PostgresJs } from './pools.js'
import { DEFAULT_SCHEMA, postgresSchema } from '../rule/schema.js'

/**
 * Creates or updates the schema, as the SQL of `postgresSchema()` does, in one transaction. It may
 * run again at any time.
 * @throws LockError for a schema name that is not valid, or when the database refuses.
 */
export async function migratePostgres(
  pool: PgPool | PostgresJs,
  schema: string = DEFAULT_SCHEMA,
): Promise<void> {
  const client = clientOf(pool)
  try {
    await migrate(client, schema)
  } finally {
    await client.closeListener()
  }
}

/** @throws LockError which names the rights that a migration needs. */
export async function migrate(client: Client, schema: string): Promise<void> {
  const sql = postgresSchema(schema)
  try {
    await client.script(sql)
  } catch (error) {
    throw codeOf(error) === '42501' ? denied(error, schema) : explain(error, schema)
  }
}

/** A migration needs other rights than the use of the schema. */
function denied(cause: unknown, schema: string): LockError {
  const text =
    `PostgreSQL refused: ${(cause as Error).message}. To migrate the schema "${schema}", this user ` +
    'must own it, or needs CREATE on the database if it is missing. Otherwise let its owner run the ' +
    'SQL of postgresSchema().'
  return new StoreUnavailableError(text, { store: 'postgres', code: 'STORE_AUTH', cause })
}
