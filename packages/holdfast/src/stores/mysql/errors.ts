/** What MySQL, MariaDB and `mysql2` say when something fails, as errors of Holdfast. */
import {
  isLockError,
  LockUsageError,
  StoreUnavailableError,
  UPDATE_ADVICE,
  type LockError,
} from '../../errors.js'
import type { UnavailableCode } from '../../errors.js'

const STORE = 'mysql'

/** The SQLSTATE that says that the schema is of a newer format; see format.ts. */
const NEWER_FORMAT = 'HF002'

/**
 * A deadlock, and a row that changed after the snapshot: the transaction was rolled back, and may
 * be sent again.
 */
const RETRIABLE = new Set([1213, 1020])
/** A table or a procedure that is not there. */
const UNMIGRATED = new Set([1146, 1305])
/** No right to connect, to use the database, a table or a procedure. */
const DENIED = new Set([1044, 1045, 1142, 1143, 1227, 1370, 1698])

/** What to do about the errors that somebody has to mend. */
const ADVICE: ReadonlyMap<number, string> = new Map([
  [1046, 'Name a database in the connection.'],
  [1049, 'Make the database, or correct its name in the connection.'],
  [1290, 'The server takes no writes: it is a read-only replica. Connect to the primary.'],
  [1792, 'The server takes no writes here. Connect to the primary.'],
  [1665, 'Set binlog_format to ROW or MIXED.'],
])

/** The number of the error; 0 for one that did not come from the server. */
function numberOf(error: unknown): number {
  const errno =
    typeof error === 'object' && error !== null && 'errno' in error ? error.errno : undefined
  return typeof errno === 'number' && errno > 0 ? errno : 0
}

/** Empty for an error that did not come from the server. */
function stateOf(error: unknown): string {
  const state =
    typeof error === 'object' && error !== null && 'sqlState' in error ? error.sqlState : undefined
  return typeof state === 'string' ? state : ''
}

export function isRetriable(error: unknown): boolean {
  return RETRIABLE.has(numberOf(error))
}

const CUT_OFF = new Set(['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE'])

/**
 * Whether the connection ended under the statement, or before it was sent, of which the library has
 * no code.
 */
export function isCutOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    CUT_OFF.has(String((error as NodeJS.ErrnoException).code)) ||
    error.message.includes('in closed state')
  )
}

export function isUnmigrated(error: unknown): boolean {
  return UNMIGRATED.has(numberOf(error))
}

export function isDenied(error: unknown): boolean {
  return DENIED.has(numberOf(error))
}

/** A statement that was interrupted: this is how a bell rings. */
export function isInterrupted(error: unknown): boolean {
  return numberOf(error) === 1317
}

/** A typed error that says what happened and what to do. */
export function explain(error: unknown, prefix: string): LockError {
  if (isLockError(error)) return error
  const number = numberOf(error)
  const reason = error instanceof Error && error.message !== '' ? error.message : String(error)
  const failed = (code: UnavailableCode, text: string): LockError =>
    new StoreUnavailableError(text, { code, store: STORE, cause: error })
  if (isDenied(error)) {
    const rights = 'SELECT, INSERT, UPDATE, DELETE and EXECUTE on the database'
    return failed(
      'STORE_AUTH',
      `The database refused: ${reason}. Check user and password; the user needs ${rights}.`,
    )
  }
  if (isUnmigrated(error)) {
    const advice =
      'Run holdfast migrate --store URL or the SQL of mysqlSchema() once, or create the store with autoMigrate: true'
    return failed(
      'STORE_CONFIG',
      `Tables or procedures "${prefix}…" are missing: ${reason}. ${advice}.`,
    )
  }
  if (stateOf(error) === NEWER_FORMAT) {
    return failed(
      'STORE_FORMAT',
      `The database refused in "${prefix}…": ${reason}. ${UPDATE_ADVICE}`,
    )
  }
  const advice = ADVICE.get(number)
  if (advice !== undefined)
    return failed('STORE_CONFIG', `The database failed: ${reason}. ${advice}`)
  // Columns, collations and keys that are not as they were made.
  if (number === 1054 || number === 1267 || number === 1364 || number === 1265 || number === 1318) {
    return failed(
      'STORE_CONFIG',
      `What is called "${prefix}…" is not Holdfast's, or was changed: ${reason}.`,
    )
  }
  if (number === 1406 || number === 1366 || number === 3140 || number === 4038) {
    const text = `The database cannot read the request: ${reason}.`
    return new LockUsageError(text, { store: STORE, cause: error })
  }
  const then =
    number === 0 ? ' Check that the server runs and can be reached, and that the pool is open.' : ''
  return failed('STORE_UNAVAILABLE', `The database failed: ${reason}.${then}`)
}
