/** Turns a failure into an exit code and a message, for people or for programs. */
import type { LockErrorCode } from '../index.js'
import { CliError } from './cli-error.js'
import { ERROR_EXITS, type ErrorCode } from './exit-codes.js'
import { operatorText } from './output/operator-text.js'
import { redact } from '../url/redact.js'
import { printableLines } from './output/text.js'
import { stderr } from './output/streams.js'

export interface Failure {
  readonly code: string
  readonly message: string
  readonly exitCode: number
}

/**
 * The codes of the library as the command line reports them. A mistake in the arguments has one
 * code. A failure that no command can cause is a fault of Holdfast.
 */
const CODES: Readonly<Record<LockErrorCode, ErrorCode>> = {
  LOCK_TIMEOUT: 'LOCK_TIMEOUT',
  DEADLOCK: 'DEADLOCK',
  LOCK_LOST: 'LOCK_LOST',
  LEASE_AT_RISK: 'INTERNAL',
  LOCK_USAGE: 'USAGE',
  LOCK_MISMATCH: 'LOCK_MISMATCH',
  LOCK_QUEUE_FULL: 'INTERNAL',
  LOCKS_CLOSED: 'INTERNAL',
  NOT_REPLICATED: 'NOT_REPLICATED',
  RELEASE_UNKNOWN: 'RELEASE_UNKNOWN',
  STORE_UNAVAILABLE: 'STORE_UNAVAILABLE',
  STORE_AUTH: 'STORE_AUTH',
  STORE_CONFIG: 'STORE_CONFIG',
  STORE_FORMAT: 'STORE_FORMAT',
  UNSUPPORTED: 'UNSUPPORTED',
  STALE_TOKEN: 'INTERNAL',
  VERSION_CONFLICT: 'INTERNAL',
  INTERNAL: 'INTERNAL',
}

/** By its fields: the lab is a bundle of its own, with another copy of the class. */
function isCliError(error: unknown): error is CliError {
  return (
    error instanceof CliError || (error instanceof Error && 'exitCode' in error && 'code' in error)
  )
}

export function failureOf(error: unknown): Failure {
  if (isCliError(error))
    return { code: error.code, message: redact(error.message), exitCode: error.exitCode }
  const { code, message } = error as Partial<Record<'code' | 'message', unknown>>
  const known =
    typeof code === 'string' && Object.hasOwn(CODES, code)
      ? CODES[code as LockErrorCode]
      : 'INTERNAL'
  const text = redact(typeof message === 'string' ? message : String(error))
  return {
    code: known,
    message:
      known === 'INTERNAL'
        ? `${text} This is a fault of Holdfast; please report it.`
        : operatorText(text, known, storeOf(error)),
    exitCode: ERROR_EXITS[known],
  }
}

function storeOf(error: unknown): string | undefined {
  const { store } = error as { readonly store?: unknown }
  return typeof store === 'string' ? store : undefined
}

/**
 * Writes one failure to stderr: a line, or with `json` an object. A line may quote a name or a
 * reason that another user wrote.
 */
export function writeFailure(failure: Failure, json: boolean): void {
  const { code, message, exitCode } = failure
  stderr().write(
    json
      ? `${JSON.stringify({ schemaVersion: 1, error: { code, message }, exitCode })}\n`
      : `holdfast: ${printableLines(message)}\n`,
  )
}
