/** `--at-least-for`: keeps the lock after the end of the command. */
import { isatty } from 'node:tty'
import type { Lease } from '../../index.js'
import { formatDuration } from '../args/duration.js'
import { note } from '../output/note.js'
import { isMessage, type Signals } from '../supervise/signals.js'
import { after } from '../timers.js'

/** Resolves when the time is over, the lock is lost, or a signal asks to end. */
export async function keepLock(
  lease: Lease,
  ms: number,
  signals: Signals,
  quiet: boolean,
): Promise<void> {
  if (ms <= 0 || lease.signal.aborted) return
  if (isatty(2) && !quiet)
    note(`the command has ended; the lock is kept for another ${formatDuration(ms)}.`)
  await new Promise<void>((resolve) => {
    const cancel = after(ms, resolve)
    const end = (): void => {
      cancel()
      resolve()
    }
    signals.handle((signal) => {
      // A message to the command comes too late.
      if (!isMessage(signal)) end()
    })
    lease.signal.addEventListener('abort', end, { once: true })
  })
}
