/** `holdfast acquire`: acquires a lock for longer than a process lives, and prints its handle. */
import { systemClock } from '../../index.js'
import { printHelp } from '../args/help.js'
import { oneName } from '../args/name.js'
import { formatDuration } from '../args/duration.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { ConfigError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { answerText, isoTime } from '../output/json.js'
import { isClosedStdout, written } from '../output/streams.js'
import { interruption, takeSignals, unlessAborted } from '../run/interrupted.js'
import { RUN_OPTIONS } from '../run/options.js'
import { lockSettings } from '../run/settings.js'
import { processOf, startKeeper } from '../run/keeper.js'
import { newStatus } from '../run/status.js'
import { withLock } from '../run/under-lock.js'
import { locateStore } from '../stores/locate.js'
import type { Command } from './command.js'

const TTL_MS = 300_000
/** With a keeper, which renews. */
const KEPT_TTL_MS = 30_000
/** Some programs open /dev/null as Node does for a closed stdout. */
const CLOSED = 'stdout is closed, or leads nowhere'

const {
  store,
  system,
  modules,
  namespace,
  wait,
  'no-wait': noWait,
  shared,
  permits,
  help,
} = RUN_OPTIONS

const OPTIONS = {
  ttl: {
    type: 'string',
    value: 'DUR',
    help: `How long the lock is held without a renewal. Default ${formatDuration(TTL_MS)}, at least 1s.`,
  },
  pid: {
    type: 'string',
    value: 'PID',
    help: `Renew the lock while the process PID runs, and release it when that ends. Then --ttl is ${formatDuration(KEPT_TTL_MS)} by default. In a shell: --pid $$.`,
  },
  wait,
  'no-wait': noWait,
  shared,
  permits,
  label: { ...RUN_OPTIONS.label, help: 'What `ls` shows for this lock. Default: acquire.' },
  store,
  system,
  modules,
  namespace,
  json: { type: 'boolean', help: 'Print JSON, with the handle, the token and the end of the TTL.' },
  help,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast acquire NAME [options]',
    about: `Waits for the lock NAME, acquires it, and prints a handle. No process holds the lock: it ends by release, or
when its TTL passes without a renew. For scripts and CI steps whose work is no single command; where it is one,
use run, which renews and releases by itself.`,
    options: OPTIONS,
    notes: `
  handle=$(holdfast acquire deploy --ttl 10m --wait 5m) || exit
  step_one && holdfast renew "$handle" && step_two
  holdfast release "$handle"

A handle names a grant and is no secret. Where it cannot be written, the lock is released. Nothing stops the work when the TTL passes: check the exit code of renew.`,
  },

  takesSignals: true,

  async main(argv, takeSignal) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    const during = values.pid === undefined ? undefined : processOf(values.pid)
    const ttlMs = during === undefined ? TTL_MS : KEPT_TTL_MS
    const settings = lockSettings(oneName('acquire', parsed), 'acquire', values, ttlMs)
    // A keeper releases the lock without the handle. Programs often start it with no output.
    if (during === undefined && isClosedStdout())
      throw unwritten(settings.name, CLOSED, 'was not acquired')
    const location = locateStore(settings)
    const status = newStatus(settings.name, location.shown)
    const departure = takeSignals(settings.name, takeSignal)
    await unlessAborted(departure.left, () =>
      withLock({ settings, location, status, ...departure }, async (lease, locks) => {
        const interrupted = interruption(settings.name, departure)
        // The export renews, so the TTL counts from now.
        const handle = await lease.export()
        const expiresAt = isoTime(systemClock.wallMs() + settings.ttlMs)
        const { lock, store: shown, claimId, token, waitedMs } = status
        const answer = { lock, store: shown, handle, claimId, token, expiresAt, waitedMs }
        try {
          interrupted.throwIfAborted()
          if (during !== undefined) await startKeeper(locks, handle, during, location)
          interrupted.throwIfAborted()
          await print(lock, values.json === true ? answerText(answer) : `${handle}\n`)
        } catch (error) {
          // Without its handle no program could release the lock.
          await locks.releaseHandle(handle)
          throw error
        }
      }),
    )
    return EXIT.ok
  },
}

/** @throws ConfigError when the text cannot be written. */
async function print(lock: string, text: string): Promise<void> {
  const failure = await written(text)
  if (failure !== undefined) throw unwritten(lock, failure.message, 'was released')
}

function unwritten(lock: string, why: string, so: string): ConfigError {
  return new ConfigError(`The handle of "${lock}" could not be written, so the lock ${so}: ${why}.`)
}
