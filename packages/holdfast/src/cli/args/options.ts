/**
 * Reads the options of one command with the parser of node:util, and turns its errors into advice.
 *
 * A command describes its options in a table; `--help` is made from the same table, so the two
 * cannot differ.
 */
import { parseArgs } from 'node:util'
import { UsageError } from '../cli-error.js'
import { nearest } from '../../options/nearest-word.js'

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** The name of the value in the help: DUR, URL, N. */
  readonly value?: string
  readonly help: string
}

export type OptionTable = Readonly<Record<string, OptionSpec>>

export type OptionValues<T extends OptionTable> = {
  readonly [K in keyof T]: (T[K]['type'] extends 'boolean' ? boolean : string) | undefined
}

export interface ParsedOptions<T extends OptionTable> {
  readonly values: OptionValues<T>
  readonly positionals: readonly string[]
  /** What stood after `--`, untouched; undefined when there was no `--`. */
  readonly rest: readonly string[] | undefined
}

/** Parses what stands before the first `--`. The rest belongs to the command and is not read. */
export function parseOptions<T extends OptionTable>(
  table: T,
  argv: readonly string[],
): ParsedOptions<T> {
  const end = argv.indexOf('--')
  const own = end === -1 ? argv : argv.slice(0, end)
  const rest = end === -1 ? undefined : argv.slice(end + 1)
  const options = Object.fromEntries(
    Object.entries(table).map(([name, spec]) => [
      name,
      spec.short === undefined ? { type: spec.type } : { type: spec.type, short: spec.short },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({
      args: [...own],
      options,
      strict: true,
      allowPositionals: true,
    })
    return { values: values as OptionValues<T>, positionals, rest }
  } catch (error) {
    throw asUsageError(error as NodeJS.ErrnoException, table, rest !== undefined)
  }
}

function asUsageError(
  error: NodeJS.ErrnoException,
  table: OptionTable,
  hadSeparator: boolean,
): Error {
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const option = /'(-[^']*)'/.exec(error.message)?.[1] ?? 'that option'
    return new UsageError(
      `There is no option ${option}. ${suggestion(option, table, hadSeparator)}`,
    )
  }
  if (error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const [, option] =
      /'(?:-\w, )?(--[\w-]+|-\w)[^']*' argument is ambiguous/.exec(error.message) ?? []
    if (option !== undefined) {
      return new UsageError(
        `The value of ${option} is missing, or begins with -. Such a value is written ${option.length === 2 ? `${option}-…` : `${option}=-…`}; no duration is negative.`,
      )
    }
    // Node's first sentence says which option, and whether its value is missing or unwanted.
    return new UsageError(`${error.message.split('\n')[0]?.replace(/\.?$/, '.')} See --help.`)
  }
  return error
}

function suggestion(option: string, table: OptionTable, hadSeparator: boolean): string {
  const near = nearest(
    option,
    Object.keys(table).map((name) => `--${name}`),
  )
  if (near !== undefined) return `Did you mean ${near}?`
  return hadSeparator ? 'See --help.' : 'See --help; options of the command to run go after --.'
}
