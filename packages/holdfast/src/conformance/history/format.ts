/** Writing an event as a line of JSON. */
import type { HistoryEvent } from './event.js'

/**
 * One line, without its newline. Times and tokens are strings of digits, whatever their size: the
 * nanoseconds of a machine that has been up for 105 days are beyond 2^53, where JSON numbers lose
 * digits in most readers.
 */
export function formatEvent(event: HistoryEvent): string {
  return JSON.stringify(event, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}
