/** `holdfast steal`: takes a lock away from its holders, on purpose and with a reason. */
import { hostname, userInfo } from 'node:os'
import type { StealResult } from 'holdfast/store'
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { formatDuration } from '../args/duration.js'
import { renderHelp } from '../args/help.js'
import { oneName } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { printJson } from '../output/json.js'
import { withLocks } from '../stores/with-locks.js'
import type { Command } from './command.js'

const OPTIONS = {
  ...STORE_OPTIONS,
  confirm: { type: 'string', value: 'NAME', help: 'The name of the lock once more.' },
  reason: {
    type: 'string',
    value: 'TEXT',
    help: 'Why. The holder is told, and inspect shows it; with --now only etcd tells the holder.',
  },
  now: {
    type: 'boolean',
    help: 'Free the lock at once, under running code. Then only the fencing token protects what the lock protected.',
  },
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable

export const command: Command = {
  help: {
    usage: 'holdfast steal NAME --confirm NAME --reason TEXT [--now] [options]',
    about: `Takes the lock NAME away from whoever holds it. Their renewals are refused from now on, and the lock is free when
they let go, or when their leases end. It frees the lock for those who wait; it does not take it.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) {
      process.stdout.write(renderHelp(this.help))
      return EXIT.ok
    }
    const name = oneName('steal', parsed)
    const why = checkConsent(name, values.confirm, values.reason)
    return withLocks(values, async (locks, location) => {
      const by = `${userName()}@${hostname()}`
      const reason = `${by}: ${why}`
      const stolen = await locks.steal(name, { now: values.now ?? false, reason })
      if (values.json === true)
        printJson({ lock: name, store: location.shown, ...resultJson(stolen), reason: why, by })
      else process.stdout.write(resultText(name, stolen, reason))
      return EXIT.ok
    })
  },
}

/** In a container a user may have a number alone. */
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
      `Stealing can let two work at once. To go on, repeat the name: --confirm ${JSON.stringify(name)}`,
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

/** `freeInMs` is null while a transaction keeps the lock: nobody knows when it ends. */
function resultJson({ holders, freeInMs, guarded = false }: StealResult): object {
  return { holders, freeInMs: freeInMs === undefined ? null : Math.round(freeInMs), guarded }
}

function resultText(name: string, { holders, freeInMs }: StealResult, why: string): string {
  if (holders === 0) return `"${name}" was free; nothing was taken.\n`
  const who = holders === 1 ? 'its holder' : `its ${holders} holders`
  return `Took "${name}" from ${who} (${why}). ${whenText(freeInMs)}\n`
}

function whenText(freeInMs: number | undefined): string {
  if (freeInMs === undefined) {
    return 'It is free when the transaction that covers the lease has ended: until then the transaction may yet commit.'
  }
  return freeInMs === 0
    ? 'It is free now. The old holder may still be at work: only the fencing token tells them apart.'
    : `It is free when the holder lets go, in ${formatDuration(freeInMs)} at the latest.`
}
