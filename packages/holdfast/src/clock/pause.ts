import type { Clock } from './clock.js'

/** Resolves after `ms`. In the background it does not keep the process alive. */
export function pause(clock: Clock, ms: number, background = false): Promise<void> {
  return new Promise((resolve) => void clock.timer(ms, resolve, background))
}
