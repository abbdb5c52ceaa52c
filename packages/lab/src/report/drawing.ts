/** Charts and timelines, as SVG that takes its colours from the page. */
import type { Texts } from '../text/texts.js'
import { html, type Html } from './markup.js'
import type { SpanKind, Timeline } from './timeline.js'

export interface Bar {
  readonly name: string
  readonly value: number
  readonly label: string
  /** Drawn in the colour of damage. */
  readonly bad: boolean
}

const WIDTH = 640
const ROW = 24
const NAMES = 250
const LABELS = 90

/** Bars of one length scale, from zero, each with its name and its value written beside it. */
export function barChart(bars: readonly Bar[]): Html {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  const room = WIDTH - NAMES - LABELS
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${bars.length * ROW}" role="img">
    ${bars.map(({ name, value, label, bad }, index) => {
      const length = Math.max(value > 0 ? 2 : 0, (value / most) * room)
      const middle = index * ROW + ROW / 2
      return html`<text x="${NAMES - 8}" y="${middle}" class="name">${name}</text>
        <rect
          x="${NAMES}"
          y="${middle - 8}"
          width="${length}"
          height="16"
          rx="2"
          class="${bad ? 'bar bad' : 'bar'}"
        >
          <title>${name}: ${label}</title>
        </rect>
        <text x="${NAMES + length + 6}" y="${middle}" class="value">${label}</text>`
    })}
  </svg>`
}

/** Narrower than a chart, so that its words can be read on a phone. */
const LINE = 420
const LANE = 30
const MARGIN = 28
const NOTE = 18

/**
 * A lane for each process; what it holds, waits for or wrongly believes; and marks for what was
 * done to it.
 */
export function timelineDrawing({ lanes, spans, marks, endMs }: Timeline, texts: Texts): Html {
  const scale = (ms: number): number => MARGIN + (ms / Math.max(1, endMs)) * (LINE - MARGIN - 8)
  const lane = (name: string): number => lanes.indexOf(name) * LANE
  const below = lanes.length * LANE + 6
  return html`<svg
    class="timeline"
    viewBox="0 0 ${LINE} ${below + marks.length * NOTE + NOTE}"
    role="img"
  >
    ${lanes.map(
      (name) =>
        html`<text x="8" y="${lane(name) + LANE / 2}" class="lane">${name}</text>
          <line
            x1="${MARGIN}"
            x2="${LINE - 8}"
            y1="${lane(name) + LANE / 2}"
            y2="${lane(name) + LANE / 2}"
            class="axis"
          />`,
    )}
    ${spans.map(({ lane: name, kind, fromMs, toMs = endMs, label }) => {
      const [from, to] = [scale(fromMs), scale(toMs)]
      const told = `${name} ${wordOf(kind, texts)}${label === undefined ? '' : `, ${label}`}`
      return html`<rect
        x="${from}"
        y="${lane(name) + 6}"
        width="${Math.max(2, to - from)}"
        height="${LANE - 12}"
        rx="3"
        class="${kind}"
      >
        <title>${told}: ${seconds(fromMs)} – ${seconds(toMs)}</title>
      </rect>`
    })}
    ${marks.map(
      ({ lane: name, atMs, text }, index) =>
        html`<line
            x1="${scale(atMs)}"
            x2="${scale(atMs)}"
            y1="${lane(name) + 2}"
            y2="${lane(name) + LANE - 2}"
            class="mark"
          />
          <text x="${MARGIN}" y="${below + index * NOTE + NOTE / 2}" class="note"
            >${seconds(atMs)} ${name}: ${text}</text
          >`,
    )}
    <text x="${LINE - 8}" y="${below + marks.length * NOTE + NOTE / 2}" class="note end">
      ${seconds(endMs)}
    </text>
  </svg>`
}

/** What the colours of the timelines mean. */
export function legend(texts: Texts): Html {
  return html`<p class="legend">
    ${KINDS.map((kind) => html`<span class="${kind}">${wordOf(kind, texts)}</span> `)}
  </p>`
}

const KINDS: readonly SpanKind[] = ['holds', 'waits', 'believes', 'stopped']

function wordOf(kind: SpanKind, { report }: Texts): string {
  return {
    holds: report.holds,
    waits: report.waits,
    believes: report.works,
    stopped: report.stopped,
  }[kind]
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`
}
