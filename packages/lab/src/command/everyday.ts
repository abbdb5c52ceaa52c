/** The everyday scenarios on a terminal. */
import {
  everyday,
  fill,
  milliseconds,
  type Everyday,
  type EverydayResult,
  type Texts,
  type Visit,
} from '../index.js'
import type { Screen } from './screen.js'

export async function showEveryday(
  scenario: Everyday,
  visit: Visit,
  screen: Screen,
  texts: Texts,
): Promise<EverydayResult> {
  const text = texts.scenarios[scenario.id]
  screen.heading(text.title)
  screen.print(text.story)
  screen.progress(text.title)
  const result = await everyday(scenario, (end) => visit.keep(end))
  for (const [name, story, take] of [
    [texts.scenario.without, text.without, result.without],
    [texts.scenario.withLock, text.withLock, result.withLock],
  ] as const) {
    const mark = take.damage > 0 ? '✗' : '✓'
    const { colon, open, close } = texts.punctuation
    screen.print(`${mark} ${name}${colon}${story}`)
    const damage = fill(text.damage, { count: take.damage })
    screen.print(`    ${damage}${open}${milliseconds(take.ms)}${close}`)
  }
  return result
}
