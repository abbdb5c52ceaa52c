/** `holdfast run`: runs a command under a lock. */
import { isatty } from 'node:tty'
import { printHelp } from '../args/help.js'
import { EXIT } from '../exit-codes.js'
import { failureOf, writeFailure } from '../failure.js'
import { note } from '../output/note.js'
import { takeSignals, unlessAborted } from '../run/interrupted.js'
import { RUN_OPTIONS } from '../run/options.js'
import { runSettings, type RunSettings } from '../run/settings.js'
import { runUnderLock } from '../run/under-lock.js'
import {
  assertStatusFile,
  newStatus,
  statusText,
  writeStatusFile,
  type RunStatus,
} from '../run/status.js'
import { locateStore } from '../stores/locate.js'
import type { Command, TakeSignal } from './command.js'
import { stderr } from '../output/streams.js'

export const command: Command = {
  help: {
    usage:
      'holdfast run NAME [options] -- COMMAND [ARGUMENT…]\n       holdfast run NAME [options] -c TEXT',
    about: `Waits for the lock NAME, runs the command under it, and releases it.

No shell parses the command after --. It keeps stdin, stdout and stderr, and its exit code is passed on. Its environment
has HOLDFAST_LOCK_NAME, HOLDFAST_TOKEN, HOLDFAST_OWNER, HOLDFAST_STORE and HOLDFAST_TTL_MS.`,
    options: RUN_OPTIONS,
    notes: `
Durations have a unit: 500ms, 5s, 10m, 1h30m.

Exit codes: the command's own; 128+n when signal n ended it; 126 not executable, 127 not found;
64 usage, 69 store unreachable, 71 the system refused or killed a process at the start, 74 lock lost,
75 busy or timed out, 77 not authorised, 78 configuration, 124 ended by --at-most-for.

In a crontab, so that runs do not pile up behind one that hangs:
  0 2 * * *  holdfast run nightly --wait 0 --skip-ok --at-most-for 6h -- /usr/local/bin/backup.sh`,
  },

  takesSignals: true,

  async main(argv, takeSignal) {
    const settings = runSettings(argv)
    if (settings === undefined) return printHelp(this.help)
    return run(settings, takeSignal)
  },
}

async function run(settings: RunSettings, takeSignal: TakeSignal): Promise<number> {
  const location = locateStore(settings)
  if (settings.statusFile !== undefined) assertStatusFile(settings.statusFile)
  const status = newStatus(settings.name, location.shown)
  const departure = takeSignals(settings.name, takeSignal)
  try {
    await unlessAborted(departure.left, () =>
      runUnderLock({ settings, location, status, ...departure }),
    )
  } catch (error) {
    fail(status, error, settings)
  }
  // The listeners stay until the end of the process: a signal must not keep the status from being
  // written.
  departure.signals.handle(() => {})
  if (settings.statusFile !== undefined) keepStatus(settings.statusFile, status, settings)
  if (settings.json) stderr().write(statusText(status))
  return status.exitCode
}

/** Writes the status file. Its failure changes nothing of the command's exit code. */
function keepStatus(file: string, status: RunStatus, { json }: RunSettings): void {
  try {
    writeStatusFile(file, status)
  } catch (error) {
    const { code, message } = failureOf(error)
    // With --json stderr has only the status, so the status reports it.
    if (json) status.error ??= { code, message }
    else note(message)
  }
}

function fail(status: RunStatus, error: unknown, settings: RunSettings): void {
  const failure = failureOf(error)
  status.error = { code: failure.code, message: failure.message }
  status.exitCode = failure.exitCode
  status.outcome = OUTCOMES[failure.code] ?? 'failed'
  const { busyCode } = settings
  if (status.outcome === 'busy' && busyCode !== undefined) status.exitCode = busyCode
  const skipped = status.outcome === 'busy' && busyCode === EXIT.ok
  if (!settings.json && !(skipped && !isatty(2))) writeFailure(failure, false)
}

const OUTCOMES: Readonly<Record<string, RunStatus['outcome']>> = {
  LOCK_TIMEOUT: 'busy',
  LOCK_LOST: 'lost',
  INTERRUPTED: 'interrupted',
}
