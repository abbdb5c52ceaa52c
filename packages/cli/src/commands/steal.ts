/** `holdfast steal`: ends the grants of a lock's holders, on purpose and with a reason. */
import { hostname, userInfo } from 'node:os'
import type { StealResult } from 'holdfast/store'
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { formatDuration } from '../args/duration.js'
import { renderHelp } from '../args/help.js'
import { inNamespace, oneName } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { CliError, UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { printAnswer } from '../output/json.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'
import { stdout } from '../output/streams.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  confirm: { type: 'string', value: 'NAME', help: 'The name of the lock once more.' },
  reason: {
    type: 'string',
    value: 'TEXT',
    help: 'Why. The holder and inspect show it; with --now only the holder on etcd shows it.',
  },
  now: {
    type: 'boolean',
    help: 'Free the lock at once, under running code. Then only the fencing token protects what the lock protected.',
  },
  ...NAMESPACE_OPTION,
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast steal NAME --confirm NAME --reason TEXT [--now] [options]',
    about: `Ends the grants of the lock NAME. The store refuses their renewals from now on. The lock is free when the
holders let go, or when their leases end. This frees the lock for the waiters; it does not acquire it.
Exits with 66 when the lock has no holder.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) {
      stdout().write(renderHelp(this.help))
      return EXIT.ok
    }
    const operand = oneName('steal', parsed)
    const reason = checkConsent(operand, values.confirm, values.reason)
    const name = inNamespace(values.namespace, operand)
    return withLocks(values, async (locks, location) => {
      const by = `${userName()}@${hostname()}`
      const because = `${by}: ${reason}`
      const stolen = await locks.steal(name, { now: values.now ?? false, reason: because })
      if (stolen.holders === 0) throw notHeld(name)
      if (values.json === true)
        printAnswer({ lock: name, store: location.shown, ...resultJson(stolen), reason, by })
      else stdout().write(resultText(name, stolen, because))
      return EXIT.ok
    })
  },
}

/** In a container a user may have only a number. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}

function checkConsent(
  name: string,
  confirm: string | undefined,
  reason: string | undefined,
): string {
  if (confirm === undefined) {
    throw new UsageError(
      `Stealing can let two commands run at once. To confirm, repeat the name: --confirm ${JSON.stringify(name)}`,
    )
  }
  if (confirm !== name) {
    throw new UsageError(
      `--confirm ${JSON.stringify(confirm)} is not the lock ${JSON.stringify(name)}. Nothing was done.`,
    )
  }
  if (reason === undefined || reason.trim() === '') throw new UsageError('Say why: --reason TEXT')
  return reason
}

/** `freeInMs` is null while a transaction keeps the lock: its end is unknown. */
function resultJson({ holders, freeInMs, guarded = false }: StealResult): object {
  return { holders, freeInMs: freeInMs === undefined ? null : Math.round(freeInMs), guarded }
}

function notHeld(name: string): CliError {
  return new CliError(
    `"${name}" has no holder, so nothing was stolen. See holdfast inspect ${JSON.stringify(name)}.`,
    'NOT_HELD',
  )
}

function resultText(name: string, { holders, freeInMs }: StealResult, why: string): string {
  const who = holders === 1 ? 'its holder' : `its ${holders} holders`
  return `Took "${name}" from ${who} (${why}). ${whenText(freeInMs)}\n`
}

function whenText(freeInMs: number | undefined): string {
  if (freeInMs === undefined) {
    return 'It is free when the transaction that covers the lease has ended: until then that can still commit.'
  }
  return freeInMs === 0
    ? 'It is free now. The old holder may still run: only the fencing token keeps its writes out.'
    : `It is free when the holder releases it, in ${formatDuration(freeInMs)} at the latest.`
}
