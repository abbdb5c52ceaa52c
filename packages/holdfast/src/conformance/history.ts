/**
 * Histories: what clients asked and were told, one JSON line an event, to be judged after the run.
 *
 * All times are nanoseconds of the machine's monotonic clock (`process.hrtime`), which its processes share. A client is
 * one actor that does one thing at a time, so its events come in pairs: `invoke`, then `ok` or `fail`; `info` stands
 * alone. Large numbers are written as strings, for JSON numbers lose digits beyond 2^53.
 */
import type { Clock } from '../clock/clock.js'

export const HISTORY_ACTIONS = ['acquire', 'enqueued', 'renew', 'release', 'lost', 'write', 'kill'] as const
export const HISTORY_TYPES = ['invoke', 'ok', 'fail', 'info'] as const

export type HistoryAction = (typeof HISTORY_ACTIONS)[number]
export type HistoryType = (typeof HISTORY_TYPES)[number]

export interface HistoryEvent {
  readonly t_ns: bigint
  readonly pid: number
  readonly client: string
  /** The full name of the lock; empty for a `kill`, which ends all that a process holds. */
  readonly key: string
  readonly f: HistoryAction
  readonly type: HistoryType
  /** `exclusive` when the weight is the whole capacity. */
  readonly mode?: 'exclusive' | 'shared'
  readonly weight?: number
  readonly capacity?: number
  readonly token?: bigint
  /** The largest token that a protected resource has seen. */
  readonly fence?: bigint
  /** Until when the holder believes in its lease, as it knew then. */
  readonly deadline_ns?: bigint
}

/** What is left to say of an event when time, process and client are known. */
export type HistoryNote = Omit<HistoryEvent, 't_ns' | 'pid' | 'client'>

const BIG = new Set(['t_ns', 'token', 'fence', 'deadline_ns'])

/** Writes down what one client does. */
export class Recorder {
  readonly #client: string
  readonly #write: (event: HistoryEvent) => void
  readonly #nowNs: () => bigint

  constructor(
    client: string,
    write: (event: HistoryEvent) => void,
    nowNs = (): bigint => process.hrtime.bigint(),
  ) {
    this.#client = client
    this.#write = write
    this.#nowNs = nowNs
  }

  note(note: HistoryNote): void {
    this.#write({ t_ns: this.#nowNs(), pid: process.pid, client: this.#client, ...note })
  }

  /** When a lease ends that lasts `remainingMs` from now: rather a little too early than too late. */
  deadlineNs(remainingMs: () => number): bigint {
    const nowNs = this.#nowNs()
    return nowNs + BigInt(Math.floor(remainingMs() * 1e6))
  }
}

/** The time of a clock, as histories count it. */
export function nanoseconds(clock: Clock): () => bigint {
  return () => BigInt(Math.round(clock.monotonicMs() * 1e6))
}

export function formatEvent(event: HistoryEvent): string {
  return JSON.stringify(event, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}

export class HistoryError extends Error {
  readonly line: number

  constructor(line: number, reason: string) {
    super(`Line ${line} of the history ${reason}.`)
    this.name = 'HistoryError'
    this.line = line
  }
}

/**
 * Reads a history. The last line may be cut off, since a killed process leaves it so: pass `cut` to allow that.
 * @throws HistoryError with the number of the line that makes no sense.
 */
export function parseHistory(text: string, { cut = false } = {}): HistoryEvent[] {
  const lines = text.split('\n')
  const events: HistoryEvent[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    // A complete line ends with a newline, so it is never the last part of the split.
    if (cut && index === lines.length - 1) break
    events.push(parseEvent(line, index + 1))
  }
  return events
}

function parseEvent(text: string, line: number): HistoryEvent {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    throw new HistoryError(line, 'is not JSON')
  }
  if (typeof raw !== 'object' || raw === null) throw new HistoryError(line, 'is not an object')
  const event = Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [name, BIG.has(name) ? toBig(value, name, line) : value]),
  ) as unknown as HistoryEvent
  assertKnown(event, line)
  return event
}

function assertKnown(event: HistoryEvent, line: number): void {
  if (!HISTORY_ACTIONS.includes(event.f)) throw new HistoryError(line, `has an unknown f: ${event.f}`)
  if (!HISTORY_TYPES.includes(event.type)) {
    throw new HistoryError(line, `has an unknown type: ${event.type}`)
  }
  if (typeof event.t_ns !== 'bigint') throw new HistoryError(line, 'has no t_ns')
  if (typeof event.client !== 'string' || typeof event.key !== 'string' || !Number.isInteger(event.pid)) {
    throw new HistoryError(line, 'lacks its client, key or pid')
  }
}

function toBig(value: unknown, name: string, line: number): bigint {
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value)
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  throw new HistoryError(line, `has a ${name} that is not a whole number`)
}
