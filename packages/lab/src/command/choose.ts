/** `lab choose` on a terminal: a few questions, a recommendation, and the stores measured here. */
import { createInterface, type Interface } from 'node:readline/promises'
import {
  fill,
  measureStores,
  milliseconds,
  perSecond,
  recommend,
  say,
  STORES,
  type Answers,
  type Language,
  type Recommendation,
  type StoreFigures,
  type Unmeasured,
  type Texts,
  type Visit,
} from '../index.js'
import { inLanguage, LabUsageError } from './errors.js'
import { type Column, UsageError } from 'holdfast/internal'
import {
  COSTS,
  HAVE,
  HEATS,
  languageFrom,
  listOf,
  MACHINES,
  oneOf,
  type LabValues,
} from './options.js'
import type { Screen } from './screen.js'

export interface Choice {
  readonly answers: Answers
  readonly recommendation: Recommendation
  readonly figures: readonly StoreFigures[]
  readonly unmeasured: readonly { readonly store: string; readonly why: string }[]
}

type Row = StoreFigures | Unmeasured

export async function showChoice(
  values: LabValues,
  visit: Visit,
  screen: Screen,
  texts: Texts,
): Promise<Choice> {
  const { choose } = texts
  screen.heading(choose.title)
  const answers = await answersFrom(values, texts)
  const recommendation = recommend(answers)
  const { colon } = texts.punctuation
  screen.print(`${choose.recommendation}${colon}${recommendation.store}`)
  for (const reason of recommendation.reasons)
    screen.print(`  ${choose.because}${colon}${choose.reasons[reason] ?? reason}`)
  for (const caution of recommendation.cautions)
    screen.print(`  ${choose.mind}${colon}${choose.cautions[caution] ?? caution}`)
  const measured =
    values['no-measure'] === true
      ? { figures: [], unmeasured: [] }
      : await showMeasured(answers, visit, screen, texts)
  const language = languageFrom(values)
  const unmeasured = measured.unmeasured.map(({ store, why }) => ({
    store,
    why: say(language, why),
  }))
  for (const one of unmeasured) screen.print(fill(choose.unmeasured, one))
  return { answers, recommendation, figures: measured.figures, unmeasured }
}

async function showMeasured(
  { machines }: Answers,
  visit: Visit,
  screen: Screen,
  texts: Texts,
): ReturnType<typeof measureStores> {
  const measured = await measureStores(
    STORES.filter((store) => machines === 'one' || store !== 'embedded'),
    visit,
    (store, number, of) => screen.progress(`${number}/${of}  ${store}`),
  )
  screen.heading(texts.choose.measured)
  screen.table<Row>([...measured.figures, ...measured.unmeasured], columnsOf(texts), texts)
  return measured
}

function columnsOf({ choose }: Texts): Column<Row>[] {
  const { columns, promises, yes, no } = choose
  const figure =
    (text: (figures: StoreFigures) => string) =>
    (row: Row): string =>
      'why' in row ? '–' : text(row)
  const number = (title: string, text: (figures: StoreFigures) => string): Column<Row> => ({
    title,
    cell: figure(text),
    right: true,
  })
  return [
    { title: columns.store, cell: ({ store }) => store },
    number(columns.rate, ({ pairsPerSecond }) => perSecond(pairsPerSecond)),
    number(columns.handOff, ({ handOffP50Ms }) => milliseconds(handOffP50Ms)),
    number(columns.p99, ({ handOffP99Ms }) => milliseconds(handOffP99Ms)),
    number(columns.failOver, ({ failOverMs }) => milliseconds(failOverMs)),
    { title: columns.fair, cell: figure(({ queue }) => (queue ? yes : no)), optional: 2 },
    { title: columns.promise, cell: ({ store }) => promises[store] ?? '', optional: 1 },
  ]
}

/** From the options, and from the user where an option is missing. */
async function answersFrom(values: LabValues, texts: Texts): Promise<Answers> {
  const ask = asker(texts)
  const answer = <T>(question: Question, read: (text: string) => T): Promise<T> => {
    const given = values[question]
    return given === undefined
      ? askUntilRead(ask, question, read, languageFrom(values))
      : Promise.resolve(read(given))
  }
  try {
    return {
      machines: await answer('machines', (text) => oneOf('--machines', text, MACHINES)),
      have: await answer('have', haveFrom),
      cost: await answer('cost', (text) => oneOf('--cost', text, COSTS)),
      heat: await answer('heat', (text) => oneOf('--heat', text, HEATS)),
    }
  } finally {
    ask.end()
  }
}

/** A mistyped answer is asked for again; a mistyped option ends the command. */
async function askUntilRead<T>(
  ask: (question: Question) => Promise<string>,
  question: Question,
  read: (text: string) => T,
  language: Language,
): Promise<T> {
  for (;;) {
    const text = await ask(question)
    try {
      return read(text)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      process.stderr.write(`${(inLanguage(error, language) as Error).message}\n`)
    }
  }
}

function haveFrom(text: string): Answers['have'] {
  return text === 'nothing' || text === '' ? [] : listOf('--have', text, HAVE)
}

type Question = keyof Texts['choose']['questions']

function asker(texts: Texts): ((question: Question) => Promise<string>) & { end(): void } {
  let lines: Interface | undefined
  const ask = async (question: Question): Promise<string> => {
    if (!process.stdin.isTTY) {
      throw new LabUsageError('noTerminal', { question })
    }
    lines ??= reader()
    try {
      return (await lines.question(`${texts.choose.questions[question]} `)).trim()
    } catch {
      // Ctrl-D: the cursor still stands behind the question.
      process.stderr.write('\n')
      throw new LabUsageError('noAnswer', { question })
    }
  }
  return Object.assign(ask, { end: () => lines?.close() })
}

function reader(): Interface {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // While a line is read the terminal sends Ctrl-C as a key, and not as the signal that ends the
  // lab.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  return lines
}
