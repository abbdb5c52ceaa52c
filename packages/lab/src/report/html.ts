/**
 * The page: everything in one file, nothing loaded from anywhere, readable on a phone, in light and
 * in dark.
 */
import { SHOP_TITLES } from '../shop/shop.js'
import type { OversellRow } from '../scenarios/oversell/oversell.js'
import type { EverydayResult } from '../scenarios/everyday/everyday.js'
import type { LadderTake } from '../scenarios/ladder/ladder.js'
import { textsOf } from '../text/language.js'
import { fill, type Texts } from '../text/texts.js'
import { barChart, legend, timelineDrawing } from './drawing.js'
import { milliseconds, perSecond } from './figures.js'
import { html, raw, type Html } from './markup.js'
import type { LabReport } from './report.js'
import { STYLE } from './style.js'
import { verdictOf } from './verdict.js'

export function pageOf(report: LabReport): string {
  const texts = textsOf(report.language)
  const date = report.madeAt.slice(0, 10)
  const page = html`<!doctype html>
    <html lang="${report.language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${texts.report.title}</title>
        <style>
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <header>
          <h1>${texts.report.title}</h1>
          <p class="made">${fill(texts.report.made, { date })}</p>
        </header>
        <main>
          ${oversellPart(report, texts)} ${ladderPart(report, texts)} ${everydayPart(report, texts)}
          ${choicePart(report, texts)} ${leftOutPart(report, texts)}
        </main>
      </body>
    </html>`
  return `${page.text}\n`
}

function damageOf({ oversold, lostUpdates, unserved }: OversellRow): number {
  return Math.max(oversold, lostUpdates) + unserved
}

function oversellPart({ oversell }: LabReport, texts: Texts): Html {
  if (!oversell) return html``
  const text = texts.oversell
  const { columns } = text
  const nameOf = ({ strategy }: OversellRow): string => text.strategies[strategy]?.title ?? strategy
  return html`<section>
    <h2>${text.title}</h2>
    <p>${fill(text.intro, { ...oversell.settings, strategies: '' })}</p>
    <h3>${columns.oversold} / ${columns.lost} / ${columns.unserved}</h3>
    ${barChart(
      oversell.rows.map((row) => ({
        name: nameOf(row),
        value: damageOf(row),
        label: damageOf(row) === 0 ? '0' : String(damageOf(row)),
        bad: row.damaged,
      })),
    )}
    <h3>${columns.rate}</h3>
    ${barChart(
      oversell.rows.map((row) => ({
        name: nameOf(row),
        value: row.ordersPerSecond,
        label: perSecond(row.ordersPerSecond),
        bad: row.damaged,
      })),
    )}
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th>${columns.strategy}</th>
            <th>${columns.shop}</th>
            <th class="number">${columns.sold}</th>
            <th class="number">${columns.oversold}</th>
            <th class="number">${columns.lost}</th>
            <th class="number">${columns.unserved}</th>
            <th class="number">${columns.time}</th>
            <th class="number">${columns.rate}</th>
            <th class="number">${columns.p99}</th>
            <th>${columns.verdict}</th>
          </tr>
        </thead>
        <tbody>
          ${oversell.rows.map(
            (row) =>
              html`<tr class="${row.damaged ? 'bad' : 'good'}">
                <td>${nameOf(row)}</td>
                <td>${SHOP_TITLES[row.shop]}</td>
                <td class="number">${row.sold}</td>
                <td class="number">${row.oversold}</td>
                <td class="number">${row.lostUpdates}</td>
                <td class="number">${row.unserved}</td>
                <td class="number">${milliseconds(row.ms)}</td>
                <td class="number">${perSecond(row.ordersPerSecond)}</td>
                <td class="number">${milliseconds(row.p99Ms)}</td>
                <td class="verdict">${verdictOf(row, texts)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <h3>${text.lessons}</h3>
    <dl>
      ${oversell.rows.map(
        (row) =>
          html`<dt>${nameOf(row)}</dt>
            <dd>${text.strategies[row.strategy]?.lesson ?? ''}</dd>`,
      )}
    </dl>
  </section>`
}

function ladderPart({ ladder }: LabReport, texts: Texts): Html {
  if (!ladder) return html``
  const text = texts.ladder
  const take = (title: string, { broke, timeline }: LadderTake): Html =>
    html`<figure class="${broke ? 'bad' : 'good'}">
      <figcaption class="verdict">${title}</figcaption>
      ${timelineDrawing(timeline, texts)}
    </figure>`
  return html`<section>
    <h2>${text.title}</h2>
    <p>${text.intro}</p>
    ${legend(texts)}
    ${ladder.steps.map(({ fault, broken, cured }) => {
      const rung = text.rungs[fault]
      return html`<article>
        <h3>${rung?.title ?? fault}</h3>
        <p>${rung?.fault ?? ''}</p>
        ${take(broken.broke ? (rung?.broke ?? text.broke) : text.nothing, broken)}
        <p><strong>${text.cure}:</strong> ${rung?.cured ?? ''}</p>
        ${take(cured.broke ? text.nothing : text.held, cured)}
      </article>`
    })}
    <p>${text.end}</p>
  </section>`
}

function everydayPart({ everyday = [] }: LabReport, texts: Texts): Html {
  return html`${everyday.map((result: EverydayResult) => {
    const text = texts.scenarios[result.scenario]
    const { without, withLock } = texts.scenario
    return html`<section>
      <h2>${text.title}</h2>
      <p>${text.story}</p>
      ${barChart([
        {
          name: without,
          value: result.without.damage,
          label: `${result.without.damage} ${text.damage}`,
          bad: true,
        },
        {
          name: withLock,
          value: result.withLock.damage,
          label: `${result.withLock.damage} ${text.damage}`,
          bad: result.withLock.damage > 0,
        },
      ])}
      <dl>
        <dt>${without}</dt>
        <dd>${text.without}</dd>
        <dt>${withLock}</dt>
        <dd>${text.withLock}</dd>
      </dl>
    </section>`
  })}`
}

function choicePart({ choice }: LabReport, texts: Texts): Html {
  if (!choice) return html``
  const text = texts.choose
  const { recommendation, figures } = choice
  return html`<section>
    <h2>${text.title}</h2>
    <p><strong>${text.recommendation}: ${recommendation.store}</strong></p>
    <ul>
      ${recommendation.reasons.map((reason) => html`<li>${text.reasons[reason] ?? reason}</li>`)}
    </ul>
    <h3>${text.columns.rate}</h3>
    ${barChart(
      figures.map(({ store, pairsPerSecond }) => ({
        name: store,
        value: pairsPerSecond,
        label: perSecond(pairsPerSecond),
        bad: false,
      })),
    )}
    <h3>${text.columns.handOff}</h3>
    ${barChart(
      figures.map(({ store, handOffP50Ms }) => ({
        name: store,
        value: handOffP50Ms,
        label: milliseconds(handOffP50Ms),
        bad: false,
      })),
    )}
    <h3>${text.columns.promise}</h3>
    <dl>
      ${figures.map(
        ({ store, failOverMs }) =>
          html`<dt>${store}</dt>
            <dd>
              ${text.promises[store] ?? ''}. ${text.columns.failOver}: ${milliseconds(failOverMs)}
            </dd>`,
      )}
    </dl>
  </section>`
}

function leftOutPart({ leftOut }: LabReport, texts: Texts): Html {
  if (leftOut.length === 0) return html``
  return html`<section>
    <ul>
      ${leftOut.map(
        ({ service, command }) =>
          html`<li>${fill(texts.leftOut.service, { what: service, command })}</li>`,
      )}
    </ul>
  </section>`
}
