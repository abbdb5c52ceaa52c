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

/**
 * Settles as `work` does, or rejects with the reason of the signal, which `work` need not listen
 * to.
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
