/** Reads histories: lines of JSON, from a text or from a stream. */
import { HistoryError } from './error.js'
import type { HistoryEvent } from './event.js'
import { ALWAYS, EVENTS, FIELDS, type FieldName } from './fields.js'

/** How a file of a history is read. */
export interface ReadOptions {
  /** Drops a last line that is cut off, as a killed process leaves it. Default: false. */
  readonly cut?: boolean | undefined
}

/**
 * Reads a whole history from a text.
 * @throws HistoryError with the number of the first wrong line.
 */
export function parseHistory(text: string, options: ReadOptions = {}): HistoryEvent[] {
  const reader = new Reader()
  reader.push(text)
  reader.end(options)
  return reader.events
}

/**
 * Reads a history from a stream, such as `createReadStream(path)`. It may be longer than a string
 * can be.
 * @throws HistoryError with the number of the first wrong line, or the error of the stream.
 */
export async function readHistory(
  source: AsyncIterable<string | Uint8Array>,
  options: ReadOptions = {},
): Promise<HistoryEvent[]> {
  const reader = new Reader()
  const decoder = new TextDecoder()
  for await (const piece of source) {
    reader.push(typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }))
  }
  reader.push(decoder.decode())
  reader.end(options)
  return reader.events
}

/** Reads a history in pieces, cut at any place. */
class Reader {
  readonly events: HistoryEvent[] = []
  #rest = ''
  #line = 0
  readonly #latest = new Map<number, bigint>()

  push(piece: string): void {
    const text = this.#rest + piece
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#take(text.slice(from, end))
      from = end + 1
    }
    this.#rest = text.slice(from)
  }

  end({ cut = false }: ReadOptions): void {
    // A complete line ends with a newline, so the rest may be a part of one.
    if (cut || this.#rest.trim() === '') return
    try {
      JSON.parse(this.#rest)
    } catch {
      throw new HistoryError(
        this.#line + 1,
        'is cut off',
        'a whole event and a newline, or the option that allows a last line to be cut off',
      )
    }
    this.#take(this.#rest)
  }

  #take(text: string): void {
    this.#line += 1
    if (text.trim() === '') return
    const event = parseEvent(text, this.#line)
    this.#assertForward(event)
    this.events.push(event)
  }

  /** Another process writes kills and the server's truth, and may do so later. */
  #assertForward({ pid, t_ns, f }: HistoryEvent): void {
    if (f === 'kill' || f === 'truth') return
    const latest = this.#latest.get(pid)
    if (latest !== undefined && t_ns < latest) {
      const found = `goes back in time: process ${pid} was at ${latest} before and is at ${t_ns}`
      throw new HistoryError(this.#line, found, 'each process in the order of its clock')
    }
    this.#latest.set(pid, t_ns)
  }
}

function parseEvent(text: string, line: number): HistoryEvent {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    throw new HistoryError(line, `is not JSON (${shown(text)})`, 'one event as a JSON object')
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw new HistoryError(line, `is not an object (${shown(text)})`, 'one event as a JSON object')
  }
  const event = readFields(raw as Record<string, unknown>, line)
  assertComplete(event, line)
  return event as unknown as HistoryEvent
}

type Fields = Partial<Record<FieldName, bigint | number | string>>

function readFields(raw: Record<string, unknown>, line: number): Fields {
  const event: Fields = {}
  for (const name in raw) {
    if (!Object.hasOwn(FIELDS, name)) {
      const known = Object.keys(FIELDS).join(', ')
      throw new HistoryError(
        line,
        `has an unknown field "${name}"`,
        `no other fields than ${known}`,
      )
    }
    const field = FIELDS[name as FieldName]
    const value = field.read(raw[name])
    if (value === undefined) {
      throw new HistoryError(
        line,
        `has ${shown(JSON.stringify(raw[name]))} as ${name}`,
        field.expected,
      )
    }
    event[name as FieldName] = value
  }
  return event
}

function assertComplete(event: Fields, line: number): void {
  for (const name of ALWAYS) {
    if (event[name] === undefined) throw lacks(name, line)
  }
  const { f, type } = event as unknown as HistoryEvent
  const needs = EVENTS[f][type]
  if (!needs) {
    const types = Object.keys(EVENTS[f]).join(', ')
    throw new HistoryError(
      line,
      `is an unknown event: ${f} ${type}`,
      `one of ${types} as type of ${f}`,
    )
  }
  for (const name of needs) {
    if (event[name] === undefined) throw lacks(name, line, ` for ${f} ${type}`)
  }
}

function lacks(name: FieldName, line: number, why = ''): HistoryError {
  return new HistoryError(line, `has no ${name}${why}`, FIELDS[name].expected)
}

/** Returns the text, cut to fit a sentence. */
function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
