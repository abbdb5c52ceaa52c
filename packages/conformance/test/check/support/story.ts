/** Histories as short texts. */
import { checkHistory, type HistoryEvent, type Promised } from '@holdfast/conformance'

const BIG = new Set(['token', 'deadline_ns', 'fence', 'start_ns', 'end_ns'])

/**
 * Reads a short history: one event a line, such as `10 a acquire ok token=7`. Times are in
 * nanoseconds. A client is a letter, its pid the code of that letter, unless the line has `pid=`.
 */
export function story(text: string): HistoryEvent[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [t = '', client = '', f = '', type = '', ...rest] = line.trim().split(/\s+/)
      const pairs = rest.map((pair) => pair.split('=') as [string, string])
      const more = Object.fromEntries(pairs.map(([name, value]) => [name, toValue(name, value)]))
      const pid = client.charCodeAt(0)
      return { t_ns: BigInt(t), pid, client, key: 'lock', f, type, ...more } as HistoryEvent
    })
}

function toValue(name: string, value: string): bigint | number | string {
  if (BIG.has(name)) return BigInt(value)
  return /^\d+$/.test(value) ? Number(value) : value
}

/** Returns which promises a history breaks. */
export function broken(text: string, promised: Promised = {}): string[] {
  return checkHistory(story(text), { promised }).map(({ property }) => property)
}
