/** What happened, as lanes, spans and marks, and how a terminal shows it. */
import type { Texts } from '../text/texts.js'

export type SpanKind =
  /** Holds the lock, and has the right to. */
  | 'holds'
  | 'waits'
  /** Believes that it holds the lock, while another client may hold it. */
  | 'believes'
  /** The process is stopped. */
  | 'stopped'

export const SPAN_KINDS: readonly SpanKind[] = ['holds', 'waits', 'believes', 'stopped']

export interface Span {
  readonly lane: string
  readonly kind: SpanKind
  readonly fromMs: number
  /** Undefined: until the end of the story. */
  readonly toMs?: number
  /** Stands beside the span: a token, for example. */
  readonly label?: string
}

export interface Mark {
  readonly lane: string
  readonly atMs: number
  /** A key of `ladder.marks` in the texts. */
  readonly event: string
}

export interface Timeline {
  readonly lanes: readonly string[]
  readonly spans: readonly Span[]
  readonly marks: readonly Mark[]
  readonly endMs: number
}

/** Returns the timelines on one scale, that of the longest, so that they can be compared. */
export function onOneScale<const T extends readonly Timeline[]>(
  ...timelines: T
): { [K in keyof T]: Timeline } {
  const longestMs = Math.max(...timelines.map(({ endMs }) => endMs))
  return timelines.map((timeline) => ({
    ...timeline,
    spans: timeline.spans.map((span) => ({ ...span, toMs: span.toMs ?? timeline.endMs })),
    endMs: longestMs,
  })) as { [K in keyof T]: Timeline }
}

const SYMBOLS: Readonly<Record<SpanKind, string>> = {
  holds: '█',
  waits: '·',
  believes: '▓',
  stopped: '░',
}
const MARK = '▼'
const WIDTH = 60

/** One line for each lane, a time axis, and the marks as footnotes below. */
export function drawTimeline(
  { lanes, spans, marks, endMs }: Timeline,
  texts: Texts,
  width = WIDTH,
): string {
  const scale = (ms: number): number =>
    Math.min(width - 1, Math.max(0, Math.round((ms / Math.max(1, endMs)) * (width - 1))))
  const longest = Math.max(...lanes.map((lane) => lane.length))
  const indent = ' '.repeat(longest + 2)
  const lines = lanes.map((lane) => {
    const cells = Array.from({ length: width }, () => ' ')
    for (const span of spans.filter((one) => one.lane === lane)) {
      const [from, to] = [scale(span.fromMs), scale(span.toMs ?? endMs)]
      for (let cell = from; cell <= to; cell += 1) cells[cell] = SYMBOLS[span.kind]
    }
    for (const mark of marks.filter((one) => one.lane === lane)) cells[scale(mark.atMs)] = MARK
    return `${lane.padEnd(longest)}  ${cells.join('').trimEnd()}`
  })
  const notes = marks.map((mark) => `${indent}${MARK} ${noteOf(mark, texts)}`)
  return [...lines, indent + axis(endMs, width), ...notes].join('\n')
}

/** What the signs of a timeline mean, in one line. */
export function drawLegend(texts: Texts): string {
  const kinds = SPAN_KINDS.map((kind) => `${SYMBOLS[kind]} ${wordOf(kind, texts)}`)
  return [...kinds, `${MARK} ${texts.report.mark}`].join('   ')
}

/** What a mark says: when, to which client, and what. */
export function noteOf({ lane, atMs, event }: Mark, { ladder, punctuation }: Texts): string {
  return `${seconds(atMs)}  ${lane}${punctuation.colon}${ladder.marks[event] ?? event}`
}

export function wordOf(kind: SpanKind, { report }: Texts): string {
  return {
    holds: report.holds,
    waits: report.waits,
    believes: report.works,
    stopped: report.stopped,
  }[kind]
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`
}

function axis(endMs: number, width: number): string {
  const end = seconds(endMs)
  const start = '0 s'
  return start + end.padStart(Math.max(end.length + 1, width - start.length))
}
