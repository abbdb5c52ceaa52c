/** What is done under a hot lock. */
import { setImmediate as turn } from 'node:timers/promises'

/**
 * Takes so many milliseconds, and leaves the event loop free meanwhile. By the clock and not by a
 * timer: one of 1 ms fires after 1.1 to 1.2 ms, and what it is late by would be counted against
 * every lock.
 */
export async function work(forMs: number): Promise<void> {
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) await turn()
}
