/** The processes of the command that work on when it has ended. */
import { isatty } from 'node:tty'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { killerOf, type ExitStatus } from '../exit-codes.js'
import { note } from '../output/note.js'
import type { Termination } from '../supervise/termination.js'
import type { RunSettings } from './settings.js'

/**
 * Ends the processes that a killed command has left behind. The kernel's out-of-memory killer ends
 * one process of a job, and the others would work beside the next holder. A command that ends by
 * itself may leave a daemon behind, which this leaves alone; `--until-group-ends` waits for it.
 *
 * @param passedOn the signals that the command got from this process, or beside it
 */
export async function endRest(
  status: ExitStatus,
  termination: Termination,
  passedOn: ReadonlySet<NodeJS.Signals>,
  { json, killAfterMs, untilGroupEnds }: RunSettings,
): Promise<void> {
  // A signal of the keyboard, which the command got too, arrives in the tick of its end.
  await nextTurn()
  const killer = killerOf(status)
  if (killer !== undefined && !passedOn.has(killer) && termination.leftBehind) {
    if (!json) {
      note(
        `${killer} ended the command, and processes of it still work; ` +
          'ending them before the lock is released.',
      )
    }
    termination.begin('rest', killAfterMs)
    await termination.settled()
  }
  if (!untilGroupEnds || !termination.leftBehind) return
  if (isatty(2) && !json) note('the command has ended; the lock is kept until its processes end.')
  await termination.emptied()
}
