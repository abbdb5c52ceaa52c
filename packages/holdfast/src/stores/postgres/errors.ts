/** What PostgreSQL and its clients say when something fails, as errors of Holdfast. */
import {
  isLockError,
  LockUsageError,
  StoreUnavailableError,
  UPDATE_ADVICE,
  type LockError,
} from '../../errors.js'
import { NEWER_FORMAT } from './format.js'

const STORE = 'postgres'

/** Of the error classes of PostgreSQL: the statement was rolled back, and may be sent again. */
const RETRIABLE = new Set(['40001', '40P01'])
/** A schema, a table or a function that is not there. */
const UNMIGRATED = new Set(['3F000', '42P01', '42883'])

/** The SQLSTATE, or the code of a client library or of the system. */
export function codeOf(error: unknown): string {
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

export function isRetriable(error: unknown): boolean {
  return RETRIABLE.has(codeOf(error))
}

/**
 * A session that an operator or a crash ended, and what the system and `postgres` say of one that
 * ended.
 */
const CUT_OFF = new Set(['57P01', '57P02', 'ECONNRESET', 'EPIPE', 'CONNECTION_CLOSED'])

/** Whether the connection ended under the statement. `pg` has no code for that. */
export function isCutOff(error: unknown): boolean {
  if (CUT_OFF.has(codeOf(error))) return true
  return (
    error instanceof Error &&
    /^Connection terminated unexpectedly$|is not queryable$/.test(error.message)
  )
}

export function isUnmigrated(error: unknown): boolean {
  return UNMIGRATED.has(codeOf(error))
}

/** What to do about the errors that somebody has to mend. */
const ADVICE: Readonly<Record<string, string>> = {
  '3D000': 'Make the database, or correct its name in the connection.',
  '25006': 'The server takes no writes: it is a read-only replica. Connect to the primary.',
  '57P03': 'The server is starting up or shutting down.',
  '53300': 'The server has no connection left: make pools smaller, or raise max_connections.',
  HF001:
    'Locks need READ COMMITTED: give the pool that default_transaction_isolation, as in ' +
    `options: '-c default_transaction_isolation=read\\ committed'.`,
}

/**
 * What comes from a server has a SQLSTATE, and all of these have a digit, which the codes of the
 * system have not.
 */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/
const NOT_REACHED = 'Check that the server runs and can be reached, and that the pool is open.'

function adviceFor(code: string): string | undefined {
  return ADVICE[code] ?? (SQLSTATE.test(code) && !code.startsWith('08') ? undefined : NOT_REACHED)
}

/**
 * PgBouncer gives whatever it does not let in the code of a broken protocol, and says in words what
 * it is.
 */
const BROKEN_PROTOCOL = '08P01'
const REFUSED_BY_POOLER: readonly (readonly [RegExp, string])[] = [
  [/^no such database|^database ".*" does not exist$/, '3D000'],
  [/^no such user|authentication failed/, '28000'],
]

function stateOf(error: unknown, reason: string): string {
  const code = codeOf(error)
  if (code !== BROKEN_PROTOCOL) return code
  return REFUSED_BY_POOLER.find(([words]) => words.test(reason))?.[1] ?? code
}

/** A typed error that says what happened and what to do. */
export function explain(error: unknown, schema: string): LockError {
  if (isLockError(error)) return error
  const reason =
    error instanceof Error && error.message !== '' ? error.message : codeOf(error) || String(error)
  const code = stateOf(error, reason)
  const details = { store: STORE, cause: error }
  if (code.startsWith('28')) {
    const text = `PostgreSQL refused the connection: ${reason}. Check user, password and pg_hba.conf.`
    return new StoreUnavailableError(text, { ...details, code: 'STORE_AUTH' })
  }
  if (code === '42501') {
    const text =
      `PostgreSQL refused: ${reason}. Grant this user USAGE on the schema "${schema}", EXECUTE on its functions, ` +
      'and SELECT, INSERT, UPDATE and DELETE on its tables.'
    return new StoreUnavailableError(text, { ...details, code: 'STORE_AUTH' })
  }
  if (isUnmigrated(error)) {
    const text =
      `The schema "${schema}" of Holdfast is not in this database: ${reason}. Run holdfast migrate --store URL ` +
      'or the SQL of postgresSchema() once, or create the store with autoMigrate: true.'
    return new StoreUnavailableError(text, { ...details, code: 'STORE_CONFIG' })
  }
  if (code === NEWER_FORMAT) {
    const text = `PostgreSQL refused in the schema "${schema}": ${reason}. ${UPDATE_ADVICE}`
    return new StoreUnavailableError(text, { ...details, code: 'STORE_FORMAT' })
  }
  if (code.startsWith('42')) {
    const text =
      `What is in the schema "${schema}" is not Holdfast's, or was changed: ${reason}. ` +
      'Choose another schema, or put the tables of postgresSchema() there.'
    return new StoreUnavailableError(text, { ...details, code: 'STORE_CONFIG' })
  }
  if (code.startsWith('22')) {
    return new LockUsageError(`PostgreSQL cannot read the request: ${reason}.`, details)
  }
  const advice = adviceFor(code)
  const configuration = code === '3D000' || code === '25006' || code === 'HF001'
  return new StoreUnavailableError(`PostgreSQL failed: ${reason}.${advice ? ` ${advice}` : ''}`, {
    ...details,
    code: configuration ? 'STORE_CONFIG' : 'STORE_UNAVAILABLE',
  })
}
