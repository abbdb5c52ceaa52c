/** The clock that all threads share. The monotonic clock of a thread counts from its start. */
import type { Clock } from '../../../clock/clock.js'

/** How often the distance between the clocks is measured, and how close together at best. */
const MEASURES = 20
const CLOSE_MS = 0.005

/** Returns how far the shared clock is ahead of a monotonic one, read close together. */
export function hrtimeAheadMs(clock: Clock): number {
  let best = { aheadMs: 0, tookMs: Infinity }
  for (let tries = 0; tries < MEASURES && best.tookMs > CLOSE_MS; tries += 1) {
    const beforeMs = hrtimeMs()
    const nowMs = clock.monotonicMs()
    const tookMs = hrtimeMs() - beforeMs
    if (tookMs < best.tookMs) best = { aheadMs: beforeMs - nowMs, tookMs }
  }
  return best.aheadMs
}

/** Milliseconds on the clock that all threads of a process share. */
export function hrtimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
