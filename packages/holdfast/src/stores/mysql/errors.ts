/** Failures of MySQL, MariaDB and `mysql2`, as errors of Holdfast. */
import type { LockError } from '../../errors.js'
import { explainFailure, oneOf, ruleFailures, type FailureKind } from '../sql/failures.js'

/** A deadlock, and a row that changed after the snapshot: the transaction was rolled back. */
const RETRIABLE = ['1213', '1020']
/** A table or a procedure that does not exist, or a verb that an earlier procedure lacks. */
const UNMIGRATED = ['1146', '1305', '1339']
/** No right to connect, or to use the database, a table or a procedure. */
const DENIED = ['1044', '1045', '1142', '1143', '1227', '1370', '1698']
const INTERRUPTED = '1317'
/** Codes of `mysql2` and of the system. */
const CUT_OFF = new Set(['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE'])
/** How the states begin that the procedures signal. */
const SIGNALLED = 'HF'

/**
 * Returns the number of the server's error, or the state that a procedure signalled. Errors of the
 * library or the system have none.
 */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { errno, sqlState } = error as { readonly errno?: unknown; readonly sqlState?: unknown }
  if (typeof sqlState === 'string' && sqlState.startsWith(SIGNALLED)) return sqlState
  return typeof errno === 'number' && errno > 0 ? String(errno) : ''
}

export function isRetriable(error: unknown): boolean {
  return RETRIABLE.includes(codeOf(error))
}

/**
 * Whether the connection ended under the statement, or before it was sent. `mysql2` has no code for
 * the second.
 */
export function isCutOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    CUT_OFF.has(String((error as NodeJS.ErrnoException).code)) ||
    error.message.includes('in closed state')
  )
}

export function isUnmigrated(error: unknown): boolean {
  return UNMIGRATED.includes(codeOf(error))
}

export function isDenied(error: unknown): boolean {
  return DENIED.includes(codeOf(error))
}

/** Whether another session interrupted the statement. This is how a client is woken. */
export function isInterrupted(error: unknown): boolean {
  return codeOf(error) === INTERRUPTED
}

function kindsOf(prefix: string): readonly FailureKind[] {
  const failed = 'The database failed'
  const advise = (codes: readonly string[], advice: string): FailureKind => {
    return { match: oneOf(...codes), code: 'STORE_CONFIG', what: failed, advice }
  }
  return [
    ...ruleFailures(`"${prefix}…"`),
    {
      match: oneOf(...DENIED),
      code: 'STORE_AUTH',
      what: 'The database refused',
      advice:
        'Check user and password. The user needs SELECT, INSERT, UPDATE, DELETE and EXECUTE on ' +
        'the database.',
    },
    {
      match: oneOf(...UNMIGRATED),
      code: 'STORE_CONFIG',
      what: `Tables or procedures "${prefix}…" are missing, or are of another version`,
      advice:
        'Run holdfast migrate --store URL or the SQL of mysqlSchema() once, or create the store ' +
        'with autoMigrate: true.',
    },
    advise(['1046'], 'Name a database in the connection.'),
    advise(['1049'], 'Create the database, or correct its name in the connection.'),
    advise(['1290'], 'The server is a read-only replica. Connect to the primary.'),
    advise(['1792'], 'The server takes no writes here. Connect to the primary.'),
    advise(['1665'], 'Set binlog_format to ROW or MIXED.'),
    {
      // Columns, collations and keys that are not as the migration made them.
      match: oneOf('1054', '1267', '1364', '1265', '1318'),
      code: 'STORE_CONFIG',
      what: `"${prefix}…" does not belong to Holdfast, or was changed`,
    },
    {
      match: oneOf('1406', '1366', '3140', '4038'),
      code: 'LOCK_USAGE',
      what: 'The database cannot read the request',
    },
    {
      match: oneOf(''),
      code: 'STORE_UNAVAILABLE',
      what: failed,
      advice: 'Check that the server runs and can be reached, and that the pool is open.',
    },
  ]
}

/** Returns a typed error that says what happened and what to do. */
export function explain(error: unknown, prefix: string): LockError {
  return explainFailure({ error, code: codeOf(error), store: 'mysql' }, kindsOf(prefix))
}
