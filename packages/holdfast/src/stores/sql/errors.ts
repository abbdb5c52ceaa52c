/** Failures of a database, sorted into errors of Holdfast by a table. */
import {
  isLockError,
  LockUsageError,
  StoreUnavailableError,
  type LockError,
  type UnavailableCode,
} from '../../errors.js'
import { UPDATE_ADVICE } from '../../store/errors.js'

/** The SQLSTATE with which the rule in the database reports a newer format of its tables. */
export const NEWER_FORMAT = 'HF002'
/** The SQLSTATE with which the rule in the database reports that an invariant is broken. */
export const BROKEN_RULE = 'HF003'

/** What distinguishes a wrong setting from a state that passes. */
export interface ServerHistory {
  /** Whether a statement of this store has succeeded. Its user, password and certificate worked. */
  readonly answered: boolean
  /** Whether a write of this store has succeeded. */
  readonly written: boolean
}

/** One kind of failure. The first kind of a table that matches decides. */
export interface FailureKind {
  /** Whether a failure is of this kind, by its code, the server's words, or the error itself. */
  readonly match: (code: string, reason: string, error: unknown) => boolean
  readonly code: UnavailableCode | 'LOCK_USAGE' | 'LOCKS_CLOSED'
  /** What shows that the settings are right: the failure then passes, and waits go on. */
  readonly passesOnce?: keyof ServerHistory
  /** What happened. The server's words follow it. */
  readonly what: string
  /** What to do, as a sentence. */
  readonly advice?: string | undefined
}

/** A failure as the client library reports it. */
export interface Failure {
  readonly error: unknown
  readonly code: string
  readonly store: string
  readonly has: ServerHistory
}

/** Of a call that is the first one, or whose settings may always be wrong. */
export const NO_HISTORY: ServerHistory = { answered: false, written: false }

/** Returns a match for failures with one of these codes. */
export function oneOf(...codes: readonly string[]): FailureKind['match'] {
  return (code) => codes.includes(code)
}

/** Returns a match for failures whose code begins like this. */
export function startsWith(start: string): FailureKind['match'] {
  return (code) => code.startsWith(start)
}

/** The kind of a client that was closed before the locks. */
export function clientClosed(match: FailureKind['match']): FailureKind {
  return {
    match,
    code: 'LOCKS_CLOSED',
    what: 'The client of the database was closed',
    advice: 'Close the locks before it: await locks.close(), then end the pool.',
  }
}

/** The kinds that the rule itself reports, in both databases. */
export function ruleFailures(where: string): readonly FailureKind[] {
  return [
    {
      match: oneOf(NEWER_FORMAT),
      code: 'STORE_FORMAT',
      what: `The database refused in ${where}`,
      advice: UPDATE_ADVICE,
    },
    {
      match: oneOf(BROKEN_RULE),
      code: 'STORE_UNAVAILABLE',
      what: `An invariant of the locks in ${where} is broken, and nothing was changed`,
      advice: 'Compare the tables with the lock that is named here, and report this as a bug.',
    },
  ]
}

/** Returns the words of an error, or its code where it has no words. */
export function reasonOf(error: unknown, code: string): string {
  if (error instanceof Error && error.message !== '') return error.message
  return code === '' ? String(error) : code
}

/** Returns a failure as a typed error that says what happened and what to do. */
export function explainFailure(
  { error, code, store, has }: Failure,
  kinds: readonly FailureKind[],
): LockError {
  if (isLockError(error)) return error
  const reason = reasonOf(error, code)
  const kind = kinds.find(({ match }) => match(code, reason, error))
  const what = kind?.what ?? 'The database failed'
  const text = `${what}: ${reason}.${kind?.advice === undefined ? '' : ` ${kind.advice}`}`
  const details = { store, cause: error }
  if (kind?.code === 'LOCK_USAGE' || kind?.code === 'LOCKS_CLOSED')
    return new LockUsageError(text, { ...details, code: kind.code })
  const passes = kind?.passesOnce !== undefined && has[kind.passesOnce]
  const unavailable = kind === undefined || passes ? 'STORE_UNAVAILABLE' : kind.code
  return new StoreUnavailableError(text, { ...details, code: unavailable })
}
