/** The schema as statements, for `autoMigrate`, and as a script for operators. */
import { LockUsageError } from '../../../errors.js'
import { NOTE_FORMAT } from './format.js'
import { dropRoutine, factOf, noteRoutine, ROUTINES } from './routines.js'
import { tables } from './scripts.generated.js'

export const DEFAULT_PREFIX = 'holdfast_'

/**
 * A procedure keeps the SQL mode of the session that created it, and some modes change what its
 * text means. The second statement restores the mode of the session.
 */
const SET_MODE =
  "set @holdfast_mode = @@sql_mode, sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
const RESTORE_MODE = 'set sql_mode = @holdfast_mode'

/** The statements of a migration that come before the procedures. */
export const TABLE_STATEMENTS: readonly string[] = [SET_MODE, ...tables, NOTE_FORMAT]

/** Returns a statement for the tables and procedures with this prefix. */
export function withPrefix(statement: string, prefix: string): string {
  return statement.replaceAll(/\bholdfast_/g, prefix)
}

/**
 * Returns the SQL that creates or updates the tables and procedures, as a script for the command
 * line clients `mariadb` and `mysql`. It may run again at any time: it replaces the procedures, and
 * a call that comes in that moment is sent again by its client.
 * @param prefix the prefix of the tables and procedures; `holdfast_` by default
 * @throws LockUsageError for a prefix that is not valid.
 */
export function mysqlSchema(prefix: string = DEFAULT_PREFIX): string {
  checkPrefix(prefix)
  const statements = [
    ...TABLE_STATEMENTS,
    ...ROUTINES.flatMap((routine) => [
      dropRoutine(routine.name),
      routine.sql,
      `delete from holdfast_facts where name = '${factOf(routine)}'`,
      noteRoutine(routine, true),
    ]),
    RESTORE_MODE,
  ].map((statement) => withPrefix(statement, prefix))
  return `delimiter //\n${statements.join('//\n\n')}//\ndelimiter ;\n`
}

/**
 * Returns a prefix if it is valid. The longest name of a procedure adds 21 characters, of the 64
 * that a name may have. Capitals are refused. On most servers they would make tables of their own,
 * while procedures ignore case. So procedures of another prefix would run on the other tables.
 * @throws LockUsageError for a prefix that is not valid.
 */
export function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && /^[a-z_][a-z0-9_]{0,39}$/.test(prefix)) return prefix
  throw new LockUsageError(
    'Invalid prefix: must be at most 40 lower-case letters, digits and underscores, and not ' +
      'start with a digit.',
    { store: 'mysql' },
  )
}
