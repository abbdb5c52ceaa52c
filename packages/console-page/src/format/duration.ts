/** Durations, with at most two units. */
import { useTexts } from '../text/language.js'
import type { Texts } from '../text/en.js'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Each unit with the next smaller one. */
const STEPS = [
  { from: DAY, unit: 'd', then: HOUR, thenUnit: 'h' },
  { from: HOUR, unit: 'h', then: MINUTE, thenUnit: 'm' },
  { from: MINUTE, unit: 'm', then: SECOND, thenUnit: 's' },
] as const

export function formatDuration(ms: number, units: Texts['units']): string {
  const step = STEPS.find(({ from }) => ms >= from)
  if (step === undefined) {
    return ms >= SECOND
      ? `${Math.floor(ms / SECOND)}${units.s}`
      : `${Math.max(0, Math.round(ms))}${units.ms}`
  }
  const rest = Math.floor((ms % step.from) / step.then)
  const whole = `${Math.floor(ms / step.from)}${units[step.unit]}`
  return rest === 0 ? whole : `${whole}${units.gap}${rest}${units[step.thenUnit]}`
}

/** Returns how durations are written in the language of the page. */
export function useDuration(): (ms: number) => string {
  const { units } = useTexts()
  return (ms) => formatDuration(ms, units)
}

/** Returns how ages are written, whose parts of a second mean nothing. */
export function useAge(): (ms: number) => string {
  const { units } = useTexts()
  return (ms) => formatDuration(Math.max(SECOND, ms), units)
}
