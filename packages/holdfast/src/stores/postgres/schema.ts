/** The schema as one SQL text, for `autoMigrate` and for operators. */
import { LockUsageError } from '../../errors.js'
import { CHECK_FORMAT, NOTE_FORMAT } from './format.js'
import { RULE } from './rule/index.js'
import { TABLES } from './tables.js'

export const DEFAULT_SCHEMA = 'holdfast'

/**
 * Creates the schema only if it is missing, since the user may lack the right to create schemas.
 */
const PREPARE = /* sql */ `
-- "if not exists" sends a notice for what exists, which some client libraries print.
select set_config('client_min_messages', 'warning', true);
-- Two clients may migrate at the same moment, and "if not exists" alone does not order them.
select pg_advisory_xact_lock(5264201764520137);
do $prepare$ begin
  if not exists (select from pg_namespace where nspname = HOLDFAST_TEXT) then
    create schema holdfast;
  end if;
end $prepare$;
`

/**
 * Returns the SQL that creates or updates the schema with its tables and functions. Run it as one
 * transaction. It may run again at any time.
 * @param schema the schema's name; `holdfast` by default
 * @throws LockUsageError for a name that is not valid.
 */
export function postgresSchema(schema: string = DEFAULT_SCHEMA): string {
  const name = quoteSchema(schema)
  const text = `'${schema.replaceAll("'", "''")}'`
  return (PREPARE + CHECK_FORMAT + TABLES + NOTE_FORMAT + RULE)
    .replaceAll('HOLDFAST_TEXT', () => text)
    .replaceAll(/\bholdfast(?=\.|;)/g, () => name)
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
