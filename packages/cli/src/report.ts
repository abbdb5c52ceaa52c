/** Turns what went wrong into an exit code and a message, for people or for programs. */
import type { LockErrorCode } from 'holdfast'
import { CliError } from './cli-error.js'
import { EXIT } from './exit-codes.js'
import { printableLines, redact } from './output/text.js'

export interface Failure {
  readonly code: string
  readonly message: string
  readonly exitCode: number
}

const EXIT_BY_CODE: Readonly<Record<LockErrorCode, number>> = {
  LOCK_TIMEOUT: EXIT.busy,
  LOCK_LOST: EXIT.lockLost,
  LOCK_USAGE: EXIT.usage,
  LOCK_MISMATCH: EXIT.config,
  LOCKS_CLOSED: EXIT.internal,
  NOT_REPLICATED: EXIT.storeUnreachable,
  RELEASE_UNKNOWN: EXIT.storeUnreachable,
  STORE_UNAVAILABLE: EXIT.storeUnreachable,
  STORE_AUTH: EXIT.auth,
  STORE_CONFIG: EXIT.config,
  STORE_FORMAT: EXIT.config,
  UNSUPPORTED: EXIT.config,
  STALE_TOKEN: EXIT.internal,
  VERSION_CONFLICT: EXIT.internal,
  INTERNAL: EXIT.internal,
}

/** By its looks: the lab is a bundle of its own, whose classes are not those of this one. */
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
    typeof code === 'string' && Object.hasOwn(EXIT_BY_CODE, code)
      ? (code as LockErrorCode)
      : undefined
  const text = redact(typeof message === 'string' ? message : String(error))
  if (known !== undefined) return { code: known, message: text, exitCode: EXIT_BY_CODE[known] }
  return {
    code: 'INTERNAL',
    message: `${text} This is a fault of Holdfast; please report it.`,
    exitCode: EXIT.internal,
  }
}

/**
 * One line on stderr, which may quote a name or a reason that somebody else wrote; with `json` an
 * object instead.
 */
export function tellFailure(failure: Failure, json: boolean): void {
  const { code, message, exitCode } = failure
  process.stderr.write(
    json
      ? `${JSON.stringify({ error: { code, message }, exitCode })}\n`
      : `holdfast: ${printableLines(message)}\n`,
  )
}

/** A remark of the wrapper, kept apart from the command's own output by its name. */
export function note(text: string): void {
  process.stderr.write(`holdfast: ${printableLines(text)}\n`)
}
