/** Failures of MySQL, MariaDB and `mysql2`, as errors of Holdfast. */
import type { LockError } from '../../errors.js'
import {
  clientClosed,
  explainFailure,
  NO_HISTORY,
  oneOf,
  reasonOf,
  ruleFailures,
  type FailureKind,
} from '../sql/errors.js'
import { CERTIFICATE_ADVICE, isCertificateError } from '../../store/tls-errors.js'

/** A deadlock, and a row that changed after the snapshot: the transaction was rolled back. */
const RETRIABLE = ['1213', '1020']
/** A table or a procedure that does not exist, or a verb that an earlier procedure lacks. */
const UNMIGRATED = ['1146', '1305', '1339']
/** No right to connect, or to use the database, a table or a procedure. */
const DENIED = ['1044', '1045', '1142', '1143', '1227', '1370', '1698']
const INTERRUPTED = '1317'
/** No change of the isolation: the connection is inside of a transaction. */
const INSIDE_TRANSACTION = '1568'
/** A read-only transaction, a read-only server, and an option that forbids the statement. */
const READ_ONLY = ['1792', '1836']
const FORBIDDEN_BY_OPTION = '1290'
/** A variable, a syntax or a feature that the server does not know. */
const UNKNOWN = ['1193', '1064', '1235']
/** Refused for the user or the password, or since the server asks for TLS. */
const LOGIN = ['1045', '1698', '3159']
/** A member of a cluster that has lost the majority. */
const NOT_READY = '1047'
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

/**
 * Whether the server takes no writes, or is cut off from its cluster. It may have been replaced,
 * and this connection would lead to it for as long as it runs.
 */
export function isReadOnly(error: unknown): boolean {
  const code = codeOf(error)
  return (
    READ_ONLY.includes(code) ||
    code === NOT_READY ||
    (code === FORBIDDEN_BY_OPTION && /read.only/i.test(reasonOf(error, code)))
  )
}

/** Whether the server refused since the connection is inside of a transaction. */
export function isInsideTransaction(error: unknown): boolean {
  return codeOf(error) === INSIDE_TRANSACTION
}

/** Whether the server answered with an error. */
export function isRefused(error: unknown): boolean {
  return codeOf(error) !== ''
}

/** Whether the server does not know what a statement uses. */
export function isUnknownStatement(error: unknown): boolean {
  return UNKNOWN.includes(codeOf(error))
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

/** Whether `mysql2` found a server without TLS. */
function isTlsMissing(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'HANDSHAKE_NO_SSL_SUPPORT'
}

function kindsOf(prefix: string): readonly FailureKind[] {
  const failed = 'The database failed'
  const advise = (codes: readonly string[], advice: string): FailureKind => {
    return { match: oneOf(...codes), code: 'STORE_CONFIG', what: failed, advice }
  }
  return [
    ...connectionFailures(failed),
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
    advise([FORBIDDEN_BY_OPTION], 'Start the server without this option.'),
    advise(
      ['1104'],
      'Set sql_big_selects to ON, or raise max_join_size, for the connections of this pool.',
    ),
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

/** What decides before any table does: the login, TLS, and whether the server takes writes. */
function connectionFailures(failed: string): readonly FailureKind[] {
  return [
    clientClosed((_code, reason) => reason === 'Pool is closed.'),
    {
      match: oneOf(...LOGIN),
      code: 'STORE_AUTH',
      passesOnce: 'answered',
      what: 'The database refused',
      advice: 'Check user and password, and whether the server asks for TLS.',
    },
    {
      match: (_code, _reason, error) => isCertificateError(error),
      code: 'STORE_AUTH',
      passesOnce: 'answered',
      what: 'The certificate of the database was not accepted',
      advice: CERTIFICATE_ADVICE,
    },
    {
      match: (_code, _reason, error) => isTlsMissing(error),
      code: 'STORE_CONFIG',
      passesOnce: 'answered',
      what: failed,
      advice: 'Enable TLS in the server, or connect without it.',
    },
    {
      match: (_code, _reason, error) => codeOf(error) === '1792',
      code: 'STORE_CONFIG',
      passesOnce: 'written',
      what: failed,
      advice:
        'Transactions of this pool are read-only: set transaction_read_only (MariaDB: tx_read_only) ' +
        'to OFF for the server, the user or the pool.',
    },
    {
      match: (_code, _reason, error) => isReadOnly(error) && codeOf(error) !== NOT_READY,
      code: 'STORE_CONFIG',
      passesOnce: 'written',
      what: failed,
      advice: 'The server is a read-only replica. Connect to the primary.',
    },
    {
      match: oneOf(INSIDE_TRANSACTION),
      code: 'STORE_CONFIG',
      what: 'The connection is inside of a transaction of the program, which could undo a grant',
      advice: 'End each transaction before its connection returns to the pool.',
    },
  ]
}

/** Returns a typed error that says what happened and what to do. */
export function explain(error: unknown, prefix: string, has = NO_HISTORY): LockError {
  return explainFailure({ error, code: codeOf(error), store: 'mysql', has }, kindsOf(prefix))
}
