/** The schema as one SQL text, for `autoMigrate` and for operators. */
import { LockUsageError } from '../../../errors.js'
import { schema as SQL } from './scripts.generated.js'

export const DEFAULT_SCHEMA = 'holdfast'

/**
 * Returns the SQL that creates or updates the schema with its tables and functions. Run it as one
 * transaction. It may run again at any time.
 * @param schema the schema's name; `holdfast` by default
 * @throws LockUsageError for a name that is not valid.
 */
export function postgresSchema(schema: string = DEFAULT_SCHEMA): string {
  const name = quoteSchema(schema)
  return SQL.replaceAll("'holdfast'", `'${schema}'`).replaceAll(/\bholdfast(?=[.;])/g, name)
}

/**
 * Returns the name as an SQL identifier. PostgreSQL truncates longer names silently, and `$` would
 * end the quotes of a function.
 * @throws LockUsageError for a name that is not valid.
 */
export function quoteSchema(schema: unknown): string {
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/i.test(schema)) {
    throw new LockUsageError(
      'Invalid schema: must be at most 63 letters, digits and underscores, and not start with a digit.',
      { store: 'postgres' },
    )
  }
  return `"${schema}"`
}
