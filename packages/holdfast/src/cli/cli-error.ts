/** Errors of the command line itself: each has a code for programs, and an exit code. */
import { ERROR_EXITS, type ErrorCode } from './exit-codes.js'

export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: number

  constructor(
    message: string,
    /** Stable, for `--json`. `INTERRUPTED` comes with the exit code of its signal. */
    readonly code: ErrorCode | 'INTERRUPTED',
    options?: ErrorOptions & { readonly exitCode?: number },
  ) {
    super(message, options)
    this.exitCode = options?.exitCode ?? (code === 'INTERRUPTED' ? 130 : ERROR_EXITS[code])
  }
}

/** The command line, a store's URL or a lock name makes no sense. Nothing was done. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'

  constructor(message: string) {
    super(message, 'USAGE')
  }
}

/** The machine or the environment is set up in a way that Holdfast cannot work with. */
export class ConfigError extends CliError {
  override readonly name = 'ConfigError'

  constructor(message: string, options?: ErrorOptions) {
    super(message, 'CONFIG', options)
  }
}

/** The operating system refused or ended a process that is needed. Another try may succeed. */
export class SystemError extends CliError {
  override readonly name = 'SystemError'

  constructor(message: string, options?: ErrorOptions) {
    super(message, 'SYSTEM', options)
  }
}
