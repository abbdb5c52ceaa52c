/**
 * The page: everything in one file, nothing loaded from anywhere, readable on a phone, in light and
 * in dark.
 */
import type { EverydayResult } from '../scenarios/everyday/everyday.js'
import type { LadderTake } from '../scenarios/ladder/ladder.js'
import { textsOf } from '../text/language.js'
import { fill, type Texts } from '../text/texts.js'
import { choicePart } from './choice-part.js'
import { codePart, strategyOf } from './code-part.js'
import { barChart, timelineDrawing, timelineLegend } from './drawing.js'
import { html, prose, raw, type Html } from './markup.js'
import { oversellPart } from './oversell-part.js'
import type { LabReport } from './report.js'
import { STYLE } from './style.js'
import { onOneScale, type Timeline } from './timeline.js'

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
          <p class="made">${prose(fill(texts.report.made, { date }))}</p>
        </header>
        <main>
          ${oversellPart(report, texts)} ${ladderPart(report, texts)} ${everydayPart(report, texts)}
          ${choicePart(report, texts)} ${leftOutPart(report, texts)}
        </main>
      </body>
    </html>`
  return `${page.text}\n`
}

function ladderPart({ ladder }: LabReport, texts: Texts): Html {
  if (!ladder) return html``
  const { ladder: text, punctuation } = texts
  const take = (title: string, { broke, subject }: LadderTake, timeline: Timeline): Html =>
    html`<figure class="${broke ? 'bad' : 'good'}">
      <figcaption class="verdict">${broke ? '✗' : '✓'} ${prose(title)}</figcaption>
      ${timelineDrawing(timeline, texts)} ${codePart(strategyOf(subject), texts)}
    </figure>`
  return html`<section>
    <h2>${text.title}</h2>
    <p>${text.intro}</p>
    ${timelineLegend(texts)}
    ${ladder.steps.map(({ fault, broken, cured }) => {
      const rung = text.rungs[fault]
      const [before, after] = onOneScale(broken.timeline, cured.timeline)
      return html`<article>
        <h3>${rung?.title ?? fault}</h3>
        <p>${rung?.fault ?? ''}</p>
        ${take(broken.broke ? (rung?.broke ?? text.broke) : text.surprise, broken, before)}
        <p><strong>${text.cure}${punctuation.colon}</strong>${prose(rung?.cured ?? '')}</p>
        ${take(cured.broke ? text.surprise : text.held, cured, after)}
      </article>`
    })}
    <p>${text.end}</p>
  </section>`
}

function everydayPart({ everyday = [] }: LabReport, texts: Texts): Html {
  return html`${everyday.map((result: EverydayResult) => {
    const text = texts.scenarios[result.scenario]
    const takes = [
      { name: texts.scenario.without, story: text.without, take: result.without },
      { name: texts.scenario.withLock, story: text.withLock, take: result.withLock },
    ]
    return html`<section>
      <h2>${text.title}</h2>
      <p>${text.story}</p>
      ${barChart(
        takes.map(({ name, take: { damage } }) => ({
          name,
          value: damage,
          label: String(damage),
          kind: 'damage',
        })),
        String,
      )}
      <dl>
        ${takes.map(
          ({ name, story, take: { damage } }) =>
            html`<dt>
                ${name}${texts.punctuation.colon}<span class="${damage > 0 ? 'damage' : 'kept'}"
                  >${damage > 0 ? '✗' : '✓'} ${fill(text.damage, { count: damage })}</span
                >
              </dt>
              <dd>${prose(story)}</dd>`,
        )}
      </dl>
    </section>`
  })}`
}

function leftOutPart({ leftOut, oversell }: LabReport, texts: Texts): Html {
  const strategies = oversell?.leftOut ?? []
  if (leftOut.length + strategies.length === 0) return html``
  return html`<section>
    <h2>${texts.leftOut.title}</h2>
    <ul>
      ${leftOut.map(
        ({ service, command }) =>
          html`<li>${fill(texts.leftOut.service, { what: service, command })}</li>`,
      )}
      ${strategies.map((one) => html`<li>${leftOutText(one, texts)}</li>`)}
    </ul>
  </section>`
}

/** Says which strategy was left out, and what it needs. */
export function leftOutText(
  { strategy, missing }: { readonly strategy: string; readonly missing: string },
  { leftOut, oversell }: Texts,
): string {
  const title = oversell.strategies[strategy]?.title ?? strategy
  return fill(leftOut.strategy, { strategy: title, what: missing })
}
