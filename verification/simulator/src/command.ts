/**
 * The command line of the simulator: what may be asked for, and what is said when something else
 * is.
 */
import { parseArgs } from 'node:util'
import { isStoreName, STORE_NAMES, STORE_NOTES, type StoreName } from './server/models.js'

export interface Command {
  readonly stores: readonly StoreName[]
  readonly firstSeed: number
  readonly seeds: number
  /** A mutation of the runtime to simulate instead of the real one. */
  readonly mutation: string | undefined
  /** Try all mutations and print the table of the documentation. */
  readonly mutations: boolean
  /** Run the controls, and print how often each was caught. */
  readonly controls: boolean
  /** Simulate actors that deadlock. */
  readonly deadlocks: boolean
  /** Where to write the history of the last run. */
  readonly history: string | undefined
}

export class UsageError extends Error {}

export const USAGE = `npm run simulate -- [--seeds N] [--seed S] [--store ${STORE_NAMES.join('|')}] …

  --seeds N        how many seeds to run for each store (default 300, or 1 with --seed)
  --seed S         the first seed (default 1)
  --store NAME     which store model; may be repeated (default: all)
${STORE_NAMES.map((name) => `                   ${name}: ${STORE_NOTES[name]}`).join('\n')}
  --mutation NAME  simulate a runtime that is broken on purpose
  --mutations      search the seed that catches each mutation, and print the table
  --controls       run verification/broken-locks/, and print how often each lock is caught
  --deadlocks      actors that deadlock: each deadlock is broken, and nothing else
  --history FILE   write the history of the last run to a file, one line of JSON an event
  --help           show this`

export function parseCommand(args: readonly string[]): Command | 'help' {
  const values = parse(args)
  if (values.help === true) return 'help'
  const seed = values.seed === undefined ? undefined : wholeNumber('seed', values.seed, 0)
  return {
    stores: values.store === undefined ? STORE_NAMES : [...new Set(values.store.map(storeName))],
    firstSeed: seed ?? 1,
    seeds:
      values.seeds === undefined
        ? seed === undefined
          ? 300
          : 1
        : wholeNumber('seeds', values.seeds, 1),
    mutation: values.mutation,
    mutations: values.mutations === true,
    controls: values.controls === true,
    deadlocks: values.deadlocks === true,
    history: values.history,
  }
}

interface Values {
  readonly seeds?: string
  readonly seed?: string
  readonly store?: string[]
  readonly mutation?: string
  readonly mutations?: boolean
  readonly controls?: boolean
  readonly deadlocks?: boolean
  readonly history?: string
  readonly help?: boolean
}

function parse(args: readonly string[]): Values {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seeds: text,
        seed: text,
        store: { type: 'string', multiple: true },
        mutation: text,
        mutations: flag,
        controls: flag,
        deadlocks: flag,
        history: text,
        help: flag,
      },
    })
    return values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= 2 ** 32) return value
  throw new UsageError(`--${name} takes a whole number from ${least} to ${2 ** 32}, not "${text}".`)
}

function storeName(name: string): StoreName {
  if (isStoreName(name)) return name
  throw new UsageError(
    `There is no store model "${name}". Choose among: ${STORE_NAMES.join(', ')}.`,
  )
}
