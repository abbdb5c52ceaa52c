/** A signal that ends the wait or the start, before the command has started. */
import { CliError } from '../cli-error.js'
import type { TakeSignal } from '../commands/command.js'
import { signalExitCode } from '../exit-codes.js'
import { Signals } from '../supervise/signals.js'

export class InterruptedError extends CliError {
  override readonly name = 'InterruptedError'

  constructor(
    lock: string,
    readonly signal: NodeJS.Signals,
  ) {
    super(`${signal} came before the work under "${lock}" could start.`, 'INTERRUPTED', {
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

/** How a command that waits for a lock ends early, by a signal. */
export interface Departure {
  readonly signals: Signals
  /** Aborts when the command has to end at once. */
  readonly left: AbortSignal
  /** Ends the command at once, and undoes nothing. */
  readonly leave: (signal: NodeJS.Signals) => void
}

/** Takes the signals over from the start of the process. The first one may have come already. */
export function takeSignals(lock: string, takeSignal: TakeSignal): Departure {
  const left = new AbortController()
  const leave = (signal: NodeJS.Signals): void => left.abort(new InterruptedError(lock, signal))
  // Before the wait there is nothing to undo, so a signal ends the command at once.
  const signals = new Signals(leave)
  const early = takeSignal()
  if (early !== undefined) leave(early)
  return { signals, left: left.signal, leave }
}

/**
 * Returns a signal that aborts with the next signal of the system. The one after that ends the
 * command at once: it skips the withdrawal or the release too.
 */
export function interruption(lock: string, { signals, leave }: Departure): AbortSignal {
  const interrupted = new AbortController()
  signals.handle((signal) => {
    if (interrupted.signal.aborted) leave(signal)
    interrupted.abort(new InterruptedError(lock, signal))
  })
  return interrupted.signal
}
