/** Failures of PostgreSQL and its client libraries, as errors of Holdfast. */
import type { LockError } from '../../errors.js'
import {
  BROKEN_RULE,
  clientClosed,
  explainFailure,
  NO_HISTORY,
  oneOf,
  reasonOf,
  ruleFailures,
  startsWith,
  type FailureKind,
  type ServerHistory,
} from '../sql/errors.js'
import { CERTIFICATE_ADVICE, isCertificateError } from '../../store/tls-errors.js'

/** A serialization failure and a deadlock: the server rolled the statement back. */
const RETRIABLE = new Set(['40001', '40P01'])
/** A schema, a table or a function that does not exist. */
const UNMIGRATED = new Set(['3F000', '42P01', '42883'])
/** How the batch function of an earlier version refuses a verb that it does not know. */
const UNKNOWN_VERB = /^the request \S+ has no answer$/
const READ_ONLY = '25006'
/** A COMMIT that a transaction does not admit, and any statement in a transaction that failed. */
const INSIDE_TRANSACTION = ['2D000', '25P02']
/** A session that an operator or a crash ended, by codes of the server, system or `postgres`. */
const CUT_OFF = new Set(['57P01', '57P02', 'ECONNRESET', 'EPIPE', 'CONNECTION_CLOSED'])

/** Returns the SQLSTATE, or the code of a client library or of the system. */
export function codeOf(error: unknown): string {
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** Whether the server refused since the connection is inside of a transaction. */
export function isInsideTransaction(error: unknown): boolean {
  return INSIDE_TRANSACTION.includes(codeOf(error))
}

export function isRetriable(error: unknown): boolean {
  return RETRIABLE.has(codeOf(error))
}

/** Whether the connection ended under the statement. `pg` has no code for that. */
export function isCutOff(error: unknown): boolean {
  if (CUT_OFF.has(codeOf(error))) return true
  return (
    error instanceof Error &&
    /^Connection terminated unexpectedly$|is not queryable$/.test(error.message)
  )
}

/** Whether the server takes no writes: it is a replica, or its transactions are read-only. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READ_ONLY
}

export function isUnmigrated(error: unknown): boolean {
  const code = codeOf(error)
  return isOfAnotherVersion(code, reasonOf(error, code))
}

function isOfAnotherVersion(code: string, reason: string): boolean {
  return UNMIGRATED.has(code) || (code === BROKEN_RULE && UNKNOWN_VERB.test(reason))
}

/**
 * PgBouncer reports every login that it refuses with the code of a broken protocol. Only its words
 * tell the reasons apart.
 */
const BROKEN_PROTOCOL = '08P01'
const REFUSED_BY_POOLER: readonly (readonly [words: RegExp, code: string])[] = [
  [/^no such database|^database ".*" does not exist$/, '3D000'],
  [/^no such user|authentication failed/, '28000'],
]

/** Returns the code that says what failed, also where a pooler has replaced it. */
function stateOf(error: unknown): string {
  const code = codeOf(error)
  if (code !== BROKEN_PROTOCOL) return code
  const reason = reasonOf(error, code)
  return REFUSED_BY_POOLER.find(([words]) => words.test(reason))?.[1] ?? code
}

/** Codes of a server have five characters and a digit. Codes of the system have no digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/

/** What `pg` says without a code: it has no password, and the server asks for one. */
const NO_PASSWORD = /^SASL: .*password must be a/
/** What `pg` says of a server without TLS. */
const NO_TLS = /^The server does not support SSL connections/

const FAILED = 'PostgreSQL failed'

/** What no schema decides: the isolation, the server and the way to it. */
const SERVER_FAILURES: readonly FailureKind[] = [
  {
    match: oneOf('HF001'),
    code: 'STORE_CONFIG',
    what: FAILED,
    advice:
      'Locks need READ COMMITTED. Set default_transaction_isolation for the pool, as in ' +
      `options: '-c default_transaction_isolation=read\\ committed'.`,
  },
  {
    match: oneOf('3D000'),
    code: 'STORE_CONFIG',
    what: FAILED,
    advice: 'Create the database, or correct its name in the connection.',
  },
  {
    match: oneOf(READ_ONLY),
    code: 'STORE_CONFIG',
    passesOnce: 'written',
    what: FAILED,
    advice:
      'Either the server is a replica: connect to the primary. Or default_transaction_read_only is ' +
      'on for the server, the database, the user or this pool.',
  },
  {
    match: oneOf(...INSIDE_TRANSACTION),
    code: 'STORE_CONFIG',
    what: 'The connection is inside of a transaction of the program, which could undo a grant',
    advice: 'End each transaction before its connection returns to the pool.',
  },
  {
    match: oneOf('57P03'),
    code: 'STORE_UNAVAILABLE',
    what: FAILED,
    advice: 'The server is starting or shutting down.',
  },
  {
    match: oneOf('53300'),
    code: 'STORE_UNAVAILABLE',
    what: FAILED,
    advice: 'The server has no free connection. Make the pools smaller, or raise max_connections.',
  },
  {
    match: (_code, _reason, error) => isCertificateError(error),
    code: 'STORE_AUTH',
    passesOnce: 'answered',
    what: 'The certificate of PostgreSQL was not accepted',
    advice: `${CERTIFICATE_ADVICE} In a URL that is sslrootcert=FILE.`,
  },
  {
    match: (_code, reason) => NO_TLS.test(reason),
    code: 'STORE_CONFIG',
    passesOnce: 'answered',
    what: FAILED,
    advice: 'Enable TLS in the server, or connect without it.',
  },
  {
    match: (code) => !SQLSTATE.test(code) || code.startsWith('08'),
    code: 'STORE_UNAVAILABLE',
    what: FAILED,
    advice: 'Check that the server runs and can be reached, and that the pool is open.',
  },
  { match: () => true, code: 'STORE_UNAVAILABLE', what: FAILED },
]

function kindsOf(schema: string): readonly FailureKind[] {
  return [
    clientClosed(
      (code, reason) => code === 'CONNECTION_ENDED' || reason.startsWith('Cannot use a pool after'),
    ),
    {
      match: isOfAnotherVersion,
      code: 'STORE_CONFIG',
      what: `The schema "${schema}" of Holdfast is not in this database, or is of another version`,
      advice:
        'Run holdfast migrate --store URL or the SQL of postgresSchema() once, or create the ' +
        'store with autoMigrate: true.',
    },
    ...ruleFailures(`the schema "${schema}"`),
    {
      match: (code, reason) => code.startsWith('28') || NO_PASSWORD.test(reason),
      code: 'STORE_AUTH',
      passesOnce: 'answered',
      what: 'PostgreSQL refused the connection',
      advice: 'Check user, password and pg_hba.conf.',
    },
    {
      match: oneOf('42501'),
      code: 'STORE_AUTH',
      what: 'PostgreSQL refused',
      advice:
        `Grant this user USAGE on the schema "${schema}", EXECUTE on its routines, and SELECT, ` +
        'INSERT, UPDATE and DELETE on its tables.',
    },
    {
      match: startsWith('42'),
      code: 'STORE_CONFIG',
      what: `The schema "${schema}" does not belong to Holdfast, or was changed`,
      advice: 'Choose another schema, or put the tables of postgresSchema() there.',
    },
    { match: startsWith('22'), code: 'LOCK_USAGE', what: 'PostgreSQL cannot read the request' },
    ...SERVER_FAILURES,
  ]
}

/** Returns a typed error that says what happened and what to do. */
export function explain(
  error: unknown,
  schema: string,
  has: ServerHistory = NO_HISTORY,
): LockError {
  return explainFailure({ error, code: stateOf(error), store: 'postgres', has }, kindsOf(schema))
}
