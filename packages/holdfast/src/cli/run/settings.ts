/** The options of `holdfast run`, checked. */
import { basename } from 'node:path'
import {
  formatDuration,
  parseDuration,
  parsePositiveDuration,
  parseWait,
} from '../args/duration.js'
import { inNamespace } from '../args/name.js'
import { parseOptions, type OptionValues } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { EXIT } from '../exit-codes.js'
import { descriptorsOf } from './descriptors.js'
import { RUN_OPTIONS } from './options.js'
import type { OnLost } from '../supervise/lease-watch.js'

export type Sharing =
  | { readonly kind: 'exclusive' | 'shared' | 'election' }
  | { readonly kind: 'permits'; readonly permits: number }

/** What a wait for a lock needs. */
export interface LockSettings {
  readonly name: string
  readonly store: string | undefined
  readonly system: boolean
  readonly modules: string | undefined
  readonly ttlMs: number
  readonly waitMs: number
  /** How long a store may be out of reach before the wait is given up. */
  readonly outageMs: number
  readonly sharing: Sharing
  readonly label: string
  readonly json: boolean
  /** Steals the lock from its holders before the wait. */
  readonly replace: boolean
}

export interface RunSettings extends LockSettings {
  readonly command: readonly [string, ...string[]]
  readonly killAfterMs: number
  readonly onLost: OnLost
  readonly atLeastMs: number
  readonly atMostMs: number
  readonly untilGroupEnds: boolean
  readonly keepFds: readonly number[]
  /** The exit code when the lock is busy; undefined for the usual one. */
  readonly busyCode: number | undefined
  readonly statusFile: string | undefined
}

type Values = OptionValues<typeof RUN_OPTIONS>
type LockValues = Partial<Pick<Values, 'replace'>> &
  Pick<
    Values,
    | 'store'
    | 'system'
    | 'modules'
    | 'namespace'
    | 'ttl'
    | 'wait'
    | 'no-wait'
    | 'shared'
    | 'permits'
    | 'label'
    | 'json'
  >

const DEFAULT_TTL_MS = 30_000
const SHORTEST_TTL_MS = 1_000
/** More runs than this at once are a mistake. */
const MOST_PERMITS = 1_000_000

/**
 * Reads the arguments of `run`, or of a command with some of its options. Returns undefined for
 * --help.
 */
export function runSettings(
  argv: readonly string[],
  options: Partial<typeof RUN_OPTIONS> = RUN_OPTIONS,
): RunSettings | undefined {
  const { values, positionals, rest } = parseOptions(options as typeof RUN_OPTIONS, argv)
  if (values.help === true) return undefined
  const { name, command } = operands(positionals, rest, values.command)
  // Every reader of the store sees the label, and arguments may be passwords.
  const lock = lockSettings(name, basename(command[0]), values)
  return {
    ...lock,
    command,
    killAfterMs: killAfterOf(values, lock.ttlMs),
    onLost: onLostOf(values['on-lost']),
    atLeastMs:
      values['at-least-for'] === undefined
        ? 0
        : parseDuration('--at-least-for', values['at-least-for']),
    atMostMs:
      values['at-most-for'] === undefined
        ? Infinity
        : parsePositiveDuration('--at-most-for', values['at-most-for']),
    keepFds: descriptorsOf(values['keep-fd']),
    untilGroupEnds: values['until-group-ends'] ?? false,
    busyCode: busyCodeOf(values),
    statusFile: values['status-file'],
  }
}

/** Reads the options about the lock itself. */
export function lockSettings(
  name: string,
  label: string,
  values: LockValues,
  defaultTtlMs = DEFAULT_TTL_MS,
): LockSettings {
  const waitMs = waitOf(values)
  // The run would be ended, and none would take its place.
  if (values.replace === true && waitMs === 0)
    throw new UsageError(
      '--replace ends a run, and waits until that releases the lock. Give --wait DUR.',
    )
  return {
    name: inNamespace(values.namespace, name),
    store: values.store,
    system: values.system ?? false,
    modules: values.modules,
    ttlMs: ttlOf(values.ttl, defaultTtlMs),
    waitMs,
    outageMs: outageOf(waitMs, (values.wait ?? values['no-wait']) !== undefined),
    sharing: sharingOf(values),
    label: values.label ?? label,
    json: values.json ?? false,
    replace: values.replace ?? false,
  }
}

function waitOf({ wait, 'no-wait': noWait }: LockValues): number {
  if (noWait !== true) return wait === undefined ? Infinity : parseWait('--wait', wait)
  if (wait === undefined) return 0
  throw new UsageError('--wait and --no-wait say two things; give one of them.')
}

function busyCodeOf({ 'busy-code': code, 'skip-ok': skipOk }: Values): number | undefined {
  if (code === undefined) return skipOk === true ? EXIT.ok : undefined
  if (skipOk === true)
    throw new UsageError('--busy-code and --skip-ok name two exit codes; give one of them.')
  if (/^\d{1,3}$/.test(code) && Number(code) <= 255) return Number(code)
  throw new UsageError(`--busy-code ${JSON.stringify(code)} must be a whole number from 0 to 255.`)
}

/** A store needs a while for its first answer, also where a busy lock is not waited for. */
const ANSWER_MS = 2_000

function outageOf(waitMs: number, isGiven: boolean): number {
  // Jobs of a crontab must not pile up while their store is down.
  if (!isGiven) return 30_000
  // A longer wait ends by itself.
  return waitMs < ANSWER_MS ? ANSWER_MS : Infinity
}

function operands(
  positionals: readonly string[],
  rest: readonly string[] | undefined,
  text: string | undefined,
): Pick<RunSettings, 'name' | 'command'> {
  const [name, extra] = positionals
  if (name === undefined) throw new UsageError('Which lock? Write: holdfast run NAME -- COMMAND…')
  if (extra !== undefined) {
    throw new UsageError(
      rest === undefined && text === undefined
        ? `Put -- before the command: holdfast run ${name} -- ${extra} …`
        : `One lock name is expected, not two (${JSON.stringify(name)}, ${JSON.stringify(extra)}).`,
    )
  }
  if (text !== undefined) {
    if (rest !== undefined) throw new UsageError('-c and -- name two commands; give one of them.')
    if (text.trim() === '') throw new UsageError('-c is empty. Write: holdfast run NAME -c COMMAND')
    return { name, command: ['/bin/sh', '-c', text] }
  }
  const [program, ...args] = rest ?? []
  if (program === undefined)
    throw new UsageError('Which command? Write it after --: holdfast run NAME -- COMMAND…')
  return { name, command: [program, ...args] }
}

function ttlOf(text: string | undefined, defaultMs: number): number {
  if (text === undefined) return defaultMs
  const ttlMs = parsePositiveDuration('--ttl', text)
  if (ttlMs >= SHORTEST_TTL_MS) return ttlMs
  throw new UsageError(
    `--ttl ${text} is too short: a busy machine could not renew in time. At least ${formatDuration(SHORTEST_TTL_MS)}.`,
  )
}

function killAfterOf(values: Values, ttlMs: number): number {
  const text = values['kill-after']
  if (text === undefined) return Math.min(5_000, Math.floor(ttlMs / 3))
  const killAfterMs = parseDuration('--kill-after', text)
  if (killAfterMs < (ttlMs * 2) / 3) return killAfterMs
  throw new UsageError(
    `--kill-after ${text} does not fit into --ttl ${values.ttl ?? '30s'}: SIGKILL must fall before the lease ends, and ` +
      'only two thirds of the TTL are sure to be left. Shorten --kill-after or lengthen --ttl.',
  )
}

function onLostOf(text: string | undefined): OnLost {
  if (text === undefined) return 'term'
  if (text === 'term' || text === 'kill' || text === 'warn') return text
  throw new UsageError(`--on-lost ${JSON.stringify(text)} is unknown. Write term, kill or warn.`)
}

function sharingOf(values: LockValues): Sharing {
  if (values.permits === undefined) return { kind: values.shared === true ? 'shared' : 'exclusive' }
  if (values.shared === true)
    throw new UsageError('--shared and --permits are two kinds of lock; give one of them.')
  const permits = Number(values.permits)
  if (/^\d+$/.test(values.permits) && permits >= 1 && permits <= MOST_PERMITS)
    return { kind: 'permits', permits }
  throw new UsageError(
    `--permits ${JSON.stringify(values.permits)} must be a whole number from 1 to ${MOST_PERMITS}.`,
  )
}
