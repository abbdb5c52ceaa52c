/** `holdfast elect`: runs a command on the leader of several candidates, and stands again. */
import { printHelp } from '../args/help.js'
import type { OptionTable } from '../args/options.js'
import { failureOf, writeFailure } from '../failure.js'
import { note } from '../output/note.js'
import { takeSignals, unlessAborted, type Departure } from '../run/interrupted.js'
import { RUN_OPTIONS } from '../run/options.js'
import { runSettings, type RunSettings } from '../run/settings.js'
import { newStatus, type RunStatus } from '../run/status.js'
import { runUnderLock } from '../run/under-lock.js'
import { locateStore, type StoreLocation } from '../stores/locate.js'
import type { Command, TakeSignal } from './command.js'

const { store, system, modules, namespace, ttl, label, help } = RUN_OPTIONS

const OPTIONS = {
  store,
  system,
  modules,
  namespace,
  ttl,
  'kill-after': RUN_OPTIONS['kill-after'],
  label,
  help,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast elect NAME [options] -- COMMAND [ARGUMENT…]',
    about: `Stands for election under NAME. Of all candidates one leads, and runs the command. A leader that loses its
lease ends the command in time and stands again. When the command ends by itself, this candidate resigns and
exits with the command's exit code, so that a service manager decides about a restart.`,
    options: OPTIONS,
    notes: `
The command has the environment of a run, and its token in HOLDFAST_TOKEN grows with every leadership. A store that
does not answer is retried without a limit.`,
  },

  takesSignals: true,

  async main(argv, takeSignal) {
    const settings = runSettings(argv, OPTIONS)
    if (settings === undefined) return printHelp(this.help)
    return elect({ ...settings, outageMs: Infinity, sharing: { kind: 'election' } }, takeSignal)
  },
}

async function elect(settings: RunSettings, takeSignal: TakeSignal): Promise<number> {
  const location = locateStore(settings)
  const departure = takeSignals(settings.name, takeSignal)
  for (;;) {
    const status = newStatus(settings.name, location.shown)
    const end = await lead(status, settings, location, departure)
    if (end !== 'lost') {
      // A signal must not replace the exit code from here on.
      departure.signals.handle(() => {})
      return end
    }
    note(`this candidate leads "${settings.name}" no more; it stands again.`)
  }
}

/** Leads once. Resolves with the exit code, or with `lost` when the leadership was lost. */
async function lead(
  status: RunStatus,
  settings: RunSettings,
  location: StoreLocation,
  departure: Departure,
): Promise<number | 'lost'> {
  try {
    await unlessAborted(departure.left, () =>
      runUnderLock({ settings, location, status, ...departure }),
    )
  } catch (error) {
    const failure = failureOf(error)
    writeFailure(failure, false)
    return failure.code === 'LOCK_LOST' ? 'lost' : failure.exitCode
  }
  return status.outcome === 'lost' ? 'lost' : status.exitCode
}
