/** Errors of the command line itself: each knows its exit code, and a code for programs. */
import { EXIT } from './exit-codes.js'

export class CliError extends Error {
  override readonly name: string = 'CliError'

  constructor(
    message: string,
    readonly exitCode: number,
    /** Stable, for `--json`. */
    readonly code: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** The command line was written in a way that makes no sense. Nothing was done. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'

  constructor(message: string) {
    super(message, EXIT.usage, 'USAGE')
  }
}

/** The machine or the environment is set up in a way that Holdfast cannot work with. */
export class ConfigError extends CliError {
  override readonly name = 'ConfigError'

  constructor(message: string, options?: ErrorOptions) {
    super(message, EXIT.config, 'CONFIG', options)
  }
}

/**
 * The operating system refused a process that is needed, or somebody killed it. Another try may
 * succeed.
 */
export class SystemError extends CliError {
  override readonly name = 'SystemError'

  constructor(message: string, options?: ErrorOptions) {
    super(message, EXIT.system, 'SYSTEM', options)
  }
}
