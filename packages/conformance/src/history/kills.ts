/** When killed processes really ended. */
import type { HistoryEvent } from './event.js'

/**
 * Returns the kills, each moved behind the last event of its process.
 *
 * A kill is written before the signal is sent, so that no event of a dead process comes before it.
 * The process may run for a moment after that, and even be granted a lock: it lived at least until
 * its last event.
 * @param kills the kills, as they were written
 * @param histories the events of each process
 */
export function afterLastEvents(
  kills: readonly HistoryEvent[],
  histories: readonly (readonly HistoryEvent[])[],
): HistoryEvent[] {
  return kills.map((kill) => {
    let t_ns = kill.t_ns
    for (const events of histories) {
      const [first, last] = [events[0], events.at(-1)]
      // Another process may have had the same number before or after.
      if (!first || !last || first.pid !== kill.pid || first.t_ns > kill.t_ns) continue
      if (last.t_ns >= t_ns) t_ns = last.t_ns + 1n
    }
    return { ...kill, t_ns }
  })
}
