/** A signal came before the command had started: the wait or the start is given up. */
import { CliError } from '../cli-error.js'
import { signalExitCode } from '../exit-codes.js'

export class InterruptedError extends CliError {
  override readonly name = 'InterruptedError'

  constructor(
    lock: string,
    readonly signal: NodeJS.Signals,
  ) {
    super(
      `${signal} came before the command could start under "${lock}".`,
      signalExitCode(signal),
      'INTERRUPTED',
    )
  }
}
