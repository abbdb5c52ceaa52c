/**
 * The schema as one text, for the store that migrates by itself and for people who do it by hand.
 */
import { LockUsageError } from '../../errors.js'
import { CHECK_FORMAT, NOTE_FORMAT } from './format.js'
import { RULE } from './rule/index.js'
import { TABLES } from './tables.js'

export const DEFAULT_SCHEMA = 'holdfast'

/**
 * Makes the schema only where it is missing: the right to make schemas is not needed where somebody
 * made it before.
 */
const PREPARE = /* sql */ `
-- Two clients may do this at the same moment; "if not exists" alone does not order them.
select pg_advisory_xact_lock(5264201764520137);
do $prepare$ begin
  if not exists (select from pg_namespace where nspname = HOLDFAST_TEXT) then
    create schema holdfast;
  end if;
end $prepare$;
`

/**
 * The SQL that makes everything the PostgreSQL store needs: a schema with its tables and functions.
 * It may be run again at any time. Run it as one transaction.
 * @throws LockUsageError when the name of the schema cannot be one.
 */
export function postgresSchema(schema: string = DEFAULT_SCHEMA): string {
  const name = quoteSchema(schema)
  const text = `'${schema.replaceAll("'", "''")}'`
  return (PREPARE + CHECK_FORMAT + TABLES + NOTE_FORMAT + RULE)
    .replaceAll('HOLDFAST_TEXT', () => text)
    .replaceAll(/\bholdfast(?=\.|;)/g, () => name)
}

/**
 * The name as SQL has to say it. PostgreSQL cuts longer names silently, and `$` would end the
 * quotes of a function.
 */
export function quoteSchema(schema: unknown): string {
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/i.test(schema)) {
    throw new LockUsageError(
      'The schema of postgresStore must be a name of letters, digits and underscores, at most 63 of them.',
      { store: 'postgres' },
    )
  }
  return `"${schema}"`
}
