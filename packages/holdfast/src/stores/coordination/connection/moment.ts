import type { Clock } from '../../../clock/clock.js'

/** A moment on both clocks: the monotonic one stands still in a suspend. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() }
}

/** Returns how much later the second moment is, by the clock that counts more. */
export function elapsedMs(earlier: Moment, later: Moment): number {
  const monotonicMs = later.monotonicMs - earlier.monotonicMs
  const wallMs = later.wallMs - earlier.wallMs
  return monotonicMs + Math.abs(wallMs - monotonicMs)
}
