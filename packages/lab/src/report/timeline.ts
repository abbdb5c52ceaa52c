/**
 * What happened, as something to look at: lanes, spans and marks, and how they are drawn in a
 * terminal.
 */

export type SpanKind =
  /** Holds the lock, and has the right to. */
  | 'holds'
  | 'waits'
  /** Believes that it holds the lock, while it is another's. */
  | 'believes'
  /** The process is stopped. */
  | 'stopped'

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
  readonly text: string
}

export interface Timeline {
  readonly lanes: readonly string[]
  readonly spans: readonly Span[]
  readonly marks: readonly Mark[]
  readonly endMs: number
}

const SYMBOLS: Readonly<Record<SpanKind, string>> = {
  holds: '█',
  waits: '·',
  believes: '▓',
  stopped: '░',
}
const MARK = '✗'
const WIDTH = 60

/** One line for each lane, and the marks as footnotes below. */
export function drawTimeline({ lanes, spans, marks, endMs }: Timeline, width = WIDTH): string {
  const scale = (ms: number): number =>
    Math.min(width - 1, Math.max(0, Math.round((ms / Math.max(1, endMs)) * (width - 1))))
  const longest = Math.max(...lanes.map((lane) => lane.length))
  const notes: string[] = []
  const lines = lanes.map((lane) => {
    const cells = Array.from({ length: width }, () => ' ')
    for (const span of spans.filter((one) => one.lane === lane)) {
      const [from, to] = [scale(span.fromMs), scale(span.toMs ?? endMs)]
      for (let cell = from; cell <= to; cell += 1) cells[cell] = SYMBOLS[span.kind]
    }
    for (const mark of marks.filter((one) => one.lane === lane)) {
      cells[scale(mark.atMs)] = MARK
      notes.push(
        `${' '.repeat(longest + 2)}${MARK} ${(mark.atMs / 1000).toFixed(2)} s  ${lane}: ${mark.text}`,
      )
    }
    return `${lane.padEnd(longest)}  ${cells.join('').trimEnd()}`
  })
  return [...lines, ...notes].join('\n')
}
