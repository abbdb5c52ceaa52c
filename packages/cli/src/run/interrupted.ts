/** A signal that ends the wait or the start, before the command has started. */
import { CliError } from '../cli-error.js'
import { signalExitCode } from '../exit-codes.js'

export class InterruptedError extends CliError {
  override readonly name = 'InterruptedError'

  constructor(
    lock: string,
    readonly signal: NodeJS.Signals,
  ) {
    super(`${signal} came before the command could start under "${lock}".`, 'INTERRUPTED', {
      exitCode: signalExitCode(signal),
    })
  }
}

/**
 * Settles as `work` does, or rejects with the reason of the signal. `work` itself may ignore it.
 */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  let abort: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort)
  })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    if (abort) signal.removeEventListener('abort', abort)
  }
}
