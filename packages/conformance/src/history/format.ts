/** Formats an event as a line of JSON. */
import type { HistoryEvent } from './event.js'

/**
 * Returns the line, without its newline. Times and tokens are always strings of digits. After 105
 * days of uptime the nanoseconds exceed 2^53, and most readers of JSON numbers lose digits there.
 */
export function formatEvent(event: HistoryEvent): string {
  return JSON.stringify(event, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}
