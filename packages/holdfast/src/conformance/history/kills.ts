/** When processes that were killed really ended. */
import type { HistoryEvent } from './event.js'

/**
 * A kill is written down before the signal is sent, so that nothing is held against a dead process.
 * It may go on for a moment after that, and even be granted a lock: it lived at least until its
 * last event, and the kill counts from there.
 * @param kills the kills, as they were written down
 * @param histories what each process wrote, one list each
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
