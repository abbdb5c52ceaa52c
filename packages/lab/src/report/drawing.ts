/** Charts and timelines as HTML, so that their words keep the size of the page's text. */
import type { Texts } from '../text/texts.js'
import { html, type Html } from './markup.js'
import { noteOf, seconds, SPAN_KINDS, wordOf, type Timeline } from './timeline.js'

export interface Bar {
  readonly name: string
  readonly value: number
  readonly label: string
  readonly kind: 'sound' | 'broken' | 'damage'
}

/** Bars of one scale, from zero, each with its name and its value, and an axis below. */
export function barChart(bars: readonly Bar[], labelOf: (value: number) => string): Html {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  return html`<div class="bars">
    ${bars.map(
      ({ name, value, label, kind }) =>
        html`<span class="bar-name">${name}</span>
          <span class="bar-track"
            >${
              value > 0
                ? html`<span class="bar ${kind}" style="width: ${percent(value / most)}"></span>`
                : ''
            }<span class="bar-value">${label}</span></span
          >`,
    )}
    <span class="bar-name"></span>
    <span class="axis"><span>0</span><span>${labelOf(most)}</span></span>
  </div>`
}

/** A lane for each process, a time axis, and below it what was done to them. */
export function timelineDrawing(timeline: Timeline, texts: Texts): Html {
  const { lanes, spans, marks, endMs } = timeline
  const at = (ms: number): string => percent(ms / Math.max(1, endMs))
  return html`<div class="timeline">
    ${lanes.map(
      (lane) =>
        html`<span class="lane-name">${lane}</span>
          <span class="lane"
            >${spans
              .filter((span) => span.lane === lane)
              .map(({ kind, fromMs, toMs = endMs, label }) => {
                const what = `${lane} ${wordOf(kind, texts)}${label === undefined ? '' : ` ${label}`}`
                return html`<span
                  class="span ${kind}"
                  style="left: ${at(fromMs)}; width: ${at(toMs - fromMs)}"
                  title="${what}  ${seconds(fromMs)} – ${seconds(toMs)}"
                ></span>`
              })}${marks
              .filter((mark) => mark.lane === lane)
              .map(({ atMs }) => html`<span class="mark" style="left: ${at(atMs)}"></span>`)}</span
          >`,
    )}
    <span class="lane-name"></span>
    <span class="axis"><span>0 s</span><span>${seconds(endMs)}</span></span>
    <ul class="notes">
      ${marks.map((mark) => html`<li>${noteOf(mark, texts)}</li>`)}
    </ul>
  </div>`
}

/** What the colours of the timelines mean. */
export function timelineLegend(texts: Texts): Html {
  return html`<p class="legend">
    ${SPAN_KINDS.map((kind) => html`<span class="${kind}">${wordOf(kind, texts)}</span> `)}
    <span class="mark">${texts.report.mark}</span>
  </p>`
}

/** What the colours of the bars mean. */
export function barLegend({ oversell }: Texts): Html {
  return html`<p class="legend">
    <span class="sound">${oversell.soundLegend}</span>
    <span class="broken">${oversell.brokenLegend}</span>
  </p>`
}

function percent(share: number): string {
  return `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`
}
