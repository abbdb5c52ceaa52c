/** `lab strategies`: all names, or the code of one strategy. */
import { codeOf, STRATEGIES, STRATEGY, type Texts } from '../index.js'
import { oneOf } from './options.js'
import { Screen } from './screen.js'
import { EXIT, printJson } from 'holdfast/internal'

/** @param name the strategy of which the code is shown; all are listed without it */
export function showStrategies(name: string | undefined, texts: Texts, json: boolean): number {
  const ids = STRATEGIES.map(({ id }) => id)
  const chosen = name === undefined ? ids : [oneOf(STRATEGY, name, ids)]
  const strategies = chosen.map((id) => ({
    id,
    title: texts.oversell.strategies[id]?.title ?? '',
    lesson: texts.oversell.strategies[id]?.lesson ?? '',
    code: codeOf(id),
  }))
  if (json) printJson({ strategies })
  else if (name === undefined) {
    for (const { id, title } of strategies) process.stdout.write(`${id.padEnd(28)}${title}\n`)
  } else {
    const screen = new Screen(false)
    for (const { title, lesson, code } of strategies) {
      screen.heading(title)
      screen.print(lesson)
      screen.draw(`\n${indent(code)}`)
    }
  }
  return EXIT.ok
}

export function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ')
}
