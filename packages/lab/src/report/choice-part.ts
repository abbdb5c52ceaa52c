/** The part of the page that recommends a store, with the figures of all that were measured. */
import type { StoreFigures } from '../scenarios/choose/measure.js'
import { fill, type Texts } from '../text/texts.js'
import { barChart } from './drawing.js'
import { milliseconds, perSecond } from './figures.js'
import { html, prose, type Html } from './markup.js'
import type { LabReport } from './report.js'

export function choicePart({ choice }: LabReport, texts: Texts): Html {
  if (!choice) return html``
  const { choose: text, punctuation } = texts
  const { store, reasons, cautions } = choice.recommendation
  const points = (lead: string, says: readonly string[]): Html =>
    html`${says.map((says) => html`<li>${lead}${punctuation.colon}${prose(says)}</li>`)}`
  return html`<section>
    <h2>${text.title}</h2>
    <p><strong>${text.recommendation}${punctuation.colon}${store}</strong></p>
    <ul>
      ${points(
        text.because,
        reasons.map((reason) => text.reasons[reason] ?? reason),
      )}
      ${points(
        text.mind,
        cautions.map((caution) => text.cautions[caution] ?? caution),
      )}
    </ul>
    ${choice.figures.length === 0 ? '' : figuresPart(choice.figures, texts)}
    ${choice.unmeasured.map((one) => html`<p>${fill(text.unmeasured, one)}</p>`)}
  </section>`
}

function figuresPart(figures: readonly StoreFigures[], texts: Texts): Html {
  const { columns, moreIsBetter, lessIsBetter, promises, yes, no } = texts.choose
  const judged = (column: string, better: string): string =>
    `${column}${texts.punctuation.open}${better}${texts.punctuation.close}`
  return html`${chart(
      judged(columns.rate, moreIsBetter),
      figures,
      ({ pairsPerSecond }) => pairsPerSecond,
      perSecond,
    )}${chart(
      judged(columns.handOff, lessIsBetter),
      figures,
      ({ handOffP50Ms }) => handOffP50Ms,
      milliseconds,
    )}${chart(
      judged(columns.failOver, lessIsBetter),
      figures,
      ({ failOverMs }) => failOverMs,
      milliseconds,
    )}
    <h3>${columns.promise}</h3>
    <table>
      <thead>
        <tr>
          ${[columns.store, columns.fair, columns.promise].map((title) => html`<th>${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${figures.map(
          (row) =>
            html`<tr>
              <td>${row.store}</td>
              <td data-name="${columns.fair}">${row.queue ? yes : no}</td>
              <td data-name="${columns.promise}">${promises[row.store] ?? ''}</td>
            </tr>`,
        )}
      </tbody>
    </table>`
}

function chart(
  title: string,
  figures: readonly StoreFigures[],
  value: (row: StoreFigures) => number,
  label: (value: number) => string,
): Html {
  const bars = figures.map((row) => ({
    name: row.store,
    value: value(row),
    label: label(value(row)),
    kind: 'sound' as const,
  }))
  return html`
    <h3>${title}</h3>
    ${barChart(bars, label)}
  `
}
