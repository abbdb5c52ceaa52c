/** `lab ladder` on a terminal. */
import {
  drawLegend,
  drawTimeline,
  fill,
  ladder,
  onOneScale,
  type LadderResult,
  type LadderTake,
  type Texts,
  type Visit,
} from '../index.js'
import type { Screen } from './screen.js'

export async function showLadder(
  visit: Visit,
  screen: Screen,
  texts: Texts,
): Promise<LadderResult | undefined> {
  const text = texts.ladder
  screen.heading(text.title)
  screen.print(text.intro)
  screen.print(drawLegend(texts))
  const result = await ladder(
    visit.services,
    (step) => {
      const rung = text.rungs[step.fault]
      const [broken, cured] = onOneScale(step.broken.timeline, step.cured.timeline)
      screen.heading(rung?.title ?? step.fault)
      screen.print(rung?.fault ?? '')
      screen.draw(indent(drawTimeline(broken, texts)))
      screen.print(
        `${markOf(step.broken)} ${step.broken.broke ? (rung?.broke ?? text.broke) : text.surprise}`,
      )
      screen.print(`${text.cure}${texts.punctuation.colon}${rung?.cured ?? ''}`)
      screen.draw(indent(drawTimeline(cured, texts)))
      screen.print(`${markOf(step.cured)} ${step.cured.broke ? text.surprise : text.held}`)
    },
    (fault) => screen.progress(text.rungs[fault]?.title ?? fault),
    (end) => visit.keep(end),
  )
  if (result) screen.print(`\n${text.end}`)
  else {
    for (const { service, command } of visit.services.leftOut) {
      screen.print(fill(texts.leftOut.service, { what: service, command }))
    }
  }
  return result
}

function markOf({ broke }: LadderTake): string {
  return broke ? '✗' : '✓'
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ')
}
