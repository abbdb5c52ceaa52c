/** The part of the page about the shop: each promise by itself, then speed, figures and lessons. */
import type { OversellRow } from '../scenarios/oversell/rush.js'
import { SHOP_TITLES } from '../shop/shop.js'
import { fill, type Texts } from '../text/texts.js'
import { barChart, barLegend } from './drawing.js'
import { codePart } from './code-part.js'
import { milliseconds, perSecond } from './figures.js'
import { html, prose, type Html } from './markup.js'
import type { LabReport } from './report.js'
import { soundFirst, verdictOf } from './verdict.js'

interface Column {
  readonly title: string
  readonly cell: (row: OversellRow) => Html | string | number
  readonly class?: string
  /** Whether a narrow screen leaves the cell out: the verdict says it already. */
  readonly isKept?: (row: OversellRow) => boolean
}

export function oversellPart({ oversell }: LabReport, texts: Texts): Html {
  if (!oversell) return html``
  const text = texts.oversell
  const rows = soundFirst(oversell.rows)
  return html`<section>
    <h2>${text.title}</h2>
    <p>${fill(text.intro, { ...oversell.settings, strategies: '' })}</p>
    <h3>${text.promises}</h3>
    <p class="hint">${text.promisesNote}</p>
    ${table(promiseColumns(texts), rows)}
    <h3>${text.speed}</h3>
    <p class="hint">${text.speedNote}</p>
    ${barLegend(texts)}
    ${barChart(
      rows.map((row) => ({
        name: nameOf(row, texts),
        value: row.ordersPerSecond,
        label: perSecond(row.ordersPerSecond),
        kind: row.damaged ? 'broken' : 'sound',
      })),
      perSecond,
    )}
    <h3>${text.figures}</h3>
    ${table(figureColumns(texts), rows)}
    <h3>${text.lessons}</h3>
    <dl>
      ${rows.map(
        (row) =>
          html`<dt>${nameOf(row, texts)}</dt>
            <dd>
              ${prose(text.strategies[row.strategy]?.lesson ?? '')} ${codePart(row.strategy, texts)}
            </dd>`,
      )}
    </dl>
  </section>`
}

function nameOf({ strategy }: OversellRow, { oversell }: Texts): string {
  return oversell.strategies[strategy]?.title ?? strategy
}

function promiseColumns(texts: Texts): Column[] {
  const { columns, kept } = texts.oversell
  const verdict = (row: OversellRow): string =>
    `${row.damaged ? '✗' : '✓'} ${verdictOf(row, texts)}`
  return [
    { title: columns.strategy, cell: (row) => nameOf(row, texts) },
    { title: columns.verdict, cell: verdict, class: 'verdict' },
    promise(kept.oversold, ({ oversold }) => oversold),
    promise(kept.lost, ({ lostUpdates }) => lostUpdates),
    promise(kept.unserved, ({ unserved }) => unserved),
    promise(
      kept.blocked,
      ({ blocked }) => (blocked ? 1 : 0),
      () => '✗',
    ),
  ]
}

function figureColumns(texts: Texts): Column[] {
  const { columns } = texts.oversell
  return [
    { title: columns.strategy, cell: (row) => nameOf(row, texts) },
    { title: columns.shop, cell: ({ shop }) => SHOP_TITLES[shop] },
    { title: columns.sold, cell: ({ sold }) => sold, class: 'number' },
    { title: columns.time, cell: ({ ms }) => milliseconds(ms), class: 'number' },
    {
      title: columns.rate,
      cell: ({ ordersPerSecond }) => perSecond(ordersPerSecond),
      class: 'number',
    },
    { title: columns.p99, cell: ({ p99Ms }) => milliseconds(p99Ms), class: 'number' },
  ]
}

function promise(
  title: string,
  count: (row: OversellRow) => number,
  broken = (row: OversellRow): string => `✗ ${count(row)}`,
): Column {
  const isKept = (row: OversellRow): boolean => count(row) === 0
  const cell = (row: OversellRow): Html =>
    isKept(row)
      ? html`<span class="kept">✓</span>`
      : html`<span class="damage">${broken(row)}</span>`
  return { title, cell, class: 'number', isKept }
}

/** On a narrow screen each row becomes a list, which names its columns by `data-name`. */
function table(columns: readonly Column[], rows: readonly OversellRow[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${columns.map((column) => html`<th class="${column.class ?? ''}">${column.title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr class="${row.damaged ? 'bad' : 'good'}">
            ${columns.map(({ title, cell, class: name = '', isKept }, index) =>
              index === 0
                ? html`<td>${cell(row)}</td>`
                : html`<td
                    class="${isKept?.(row) === true ? `${name} optional` : name}"
                    data-name="${title}"
                  >
                    ${cell(row)}
                  </td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`
}
