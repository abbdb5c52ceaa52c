/** What the terminal behind a stream can show: its width, and colours. */

type Env = Readonly<Record<string, string | undefined>>

interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
}

const DEFAULT_COLUMNS = 80

/** Returns the columns of a terminal. Infinity for a pipe or a file, where nothing is cut. */
export function widthOf(stream: Output): number {
  if (stream.isTTY !== true) return Infinity
  // A terminal that does not know its size reports 0.
  return stream.columns === undefined || stream.columns === 0 ? DEFAULT_COLUMNS : stream.columns
}

/**
 * Whether to colour. `FORCE_COLOR` decides first, then `NO_COLOR` (https://no-color.org): a value
 * other than the empty one counts. Otherwise a terminal gets colours, unless it is a dumb one.
 */
export function hasColour(stream: Output, env: Env = process.env): boolean {
  const force = env['FORCE_COLOR']
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, inverse: 7 } as const

export type Style = keyof typeof CODES
export type Paint = (style: Style, text: string) => string

/** Returns a function that colours text for `stream`, or leaves it as it is. */
export function paintFor(stream: Output, env: Env = process.env): Paint {
  return hasColour(stream, env)
    ? (style, text) => (text === '' ? '' : `\u001b[${CODES[style]}m${text}\u001b[0m`)
    : (_, text) => text
}
