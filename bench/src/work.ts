/** The work under a hot lock. */
import { setImmediate as nextTick } from 'node:timers/promises'

/**
 * Takes `forMs`, and leaves the event loop free meanwhile. It reads the clock and uses no timer. A
 * timer of 1 ms fires after 1.1 to 1.2 ms, and its delay would be counted against every lock.
 */
export async function work(forMs: number): Promise<void> {
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) await nextTick()
}
