/**
 * The schema as statements, for the store that migrates by itself, and as a script for people who
 * do it by hand.
 */
import { LockUsageError } from '../../errors.js'
import { NOTE_FORMAT } from './format.js'
import { RULE } from './rule/index.js'
import { TABLES } from './tables.js'

export const DEFAULT_PREFIX = 'holdfast_'

/**
 * A procedure is read, and runs ever after, in the mode of the session that made it: in some its
 * text means something else, or nothing. The session has its own mode back at the end.
 */
const MODE =
  "set @holdfast_mode = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
const MODE_AS_BEFORE = 'set sql_mode = @holdfast_mode'

/** The statements, in order. */
export function schemaStatements(prefix: string): readonly string[] {
  const checked = checkPrefix(prefix)
  return [MODE, ...TABLES, NOTE_FORMAT, ...RULE, MODE_AS_BEFORE].map((statement) =>
    statement.trim().replaceAll(/\bholdfast_/g, checked),
  )
}

/**
 * The SQL that makes everything the MySQL store needs in a database: its tables and procedures. It
 * may be run again at any time. It is a script for the command line clients `mariadb` and `mysql`.
 * @throws LockUsageError when the prefix cannot be one.
 */
export function mysqlSchema(prefix: string = DEFAULT_PREFIX): string {
  return `delimiter //\n${schemaStatements(prefix).join('//\n\n')}//\ndelimiter ;\n`
}

/**
 * The longest name of a procedure takes 13 more characters, of the 64 that a name may have.
 * Capitals would make tables of their own on most servers, and never procedures: those of another
 * prefix would be called, which use the other tables.
 */
export function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(prefix)) return prefix
  throw new LockUsageError(
    'The prefix of mysqlStore must be made of lower-case letters, digits and underscores, at most 40 of them, and not ' +
      'begin with a digit.',
    { store: 'mysql' },
  )
}
