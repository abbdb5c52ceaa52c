/** Durations as people write them: `500ms`, `5s`, `1.5h`, `1h30m`. */
import { LONGEST_TTL_MS } from '../../store/index.js'
import { UsageError } from '../cli-error.js'

const NUMBER = String.raw`(?:\d+(?:\.\d+)?|\.\d+)`
/** Each unit at most once, and the largest first. */
const SHAPE = new RegExp(
  `^(?=.)${['d', 'h', 'm(?!s)', 's', 'ms'].map((unit) => `(?:(${NUMBER})${unit})?`).join('')}$`,
)
const UNITS = [86_400_000, 3_600_000, 60_000, 1_000, 1] as const
const BARE_NUMBER = /^\d+(?:\.\d+)?$/

/** Returns a duration in milliseconds. `option` names it in errors. A bare `0` needs no unit. */
export function parseDuration(option: string, text: string): number {
  if (text === '0') return 0
  const match = SHAPE.exec(text)
  if (!match)
    throw new UsageError(
      `${option} ${JSON.stringify(text)} is not a duration. ${advice(option, text)}`,
    )
  const ms = UNITS.reduce((sum, unitMs, at) => sum + Number(match[at + 1] ?? 0) * unitMs, 0)
  // A longer one is a mistaken unit, and longer than any TTL.
  if (ms > LONGEST_TTL_MS) throw new UsageError(`${option} ${text} is longer than a year.`)
  // Rounded up: a duration that was not zero must not become zero.
  return Math.ceil(ms)
}

/** Reads a duration that must be longer than zero. */
export function parsePositiveDuration(option: string, text: string): number {
  const ms = parseDuration(option, text)
  if (ms === 0) throw new UsageError(`${option} must be longer than 0.`)
  return ms
}

/** Reads `--wait`: a duration, `0` for no wait, `inf` for no limit. */
export function parseWait(option: string, text: string): number {
  return text === 'inf' ? Infinity : parseDuration(option, text)
}

/** A bare number is refused, since some tools read seconds and others milliseconds. */
function advice(option: string, text: string): string {
  if (BARE_NUMBER.test(text))
    return `A number needs a unit: ${text}s for seconds, ${text}ms for milliseconds.`
  if (/^(inf|infinity|never|forever)$/i.test(text))
    return option === '--wait' ? 'Write inf.' : 'Only --wait can be inf.'
  if (text.startsWith('-')) return 'It must not be negative.'
  return 'Write a number and a unit: 500ms, 5s, 1.5h, 1h30m.'
}

/** Returns a duration for people, in at most two units: `1h 20m`. */
export function formatDuration(ms: number): string {
  if (ms === Infinity) return 'forever'
  const rounded = Math.max(0, Math.round(ms))
  if (rounded < 1_000) return `${rounded}ms`
  if (rounded < 10_000) return `${(rounded / 1000).toFixed(1)}s`
  const seconds = Math.round(rounded / 1000)
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ')
}
