/** `holdfast lab`: distributed locks to look at, on real servers. */
import {
  EVERYDAY,
  fill,
  languageOf,
  textsOf,
  TOPIC,
  Visit,
  type LabReport,
  type Language,
  type Texts,
} from '../index.js'
import { showChoice } from './choose.js'
import { inLanguage, LabConfigError, LabUsageError, languageIn } from './errors.js'
import { showEveryday } from './everyday.js'
import { showLadder } from './ladder.js'
import {
  languageFrom,
  oneOf,
  oversellFrom,
  refuseOptionsOfOthers,
  servicesFrom,
  type LabValues,
} from './options.js'
import { showOversell } from './oversell.js'
import { assertPage, writePage } from './page.js'
import { Screen } from './screen.js'
import { showStrategies } from './strategies.js'
import {
  type Command,
  EXIT,
  LAB_ABOUT,
  LAB_OPTIONS,
  LAB_TOPICS,
  operandsOf,
  parseOptions,
  printJson,
  renderHelp,
} from 'holdfast/internal'

type Topic = (typeof LAB_TOPICS)[number]

/** What a newcomer sees within a minute, on any machine. */
const TOUR: LabValues = {
  ...(Object.fromEntries(Object.keys(LAB_OPTIONS).map((name) => [name, undefined])) as LabValues),
  items: '20',
  buyers: '100',
  processes: '4',
  strategies: 'no-lock,read-modify-write,check-then-decrement,local-lock,holdfast-embedded',
}

export const command: Command = {
  help: {
    usage: 'holdfast lab [TOPIC] [options]',
    about: LAB_ABOUT,
    options: LAB_OPTIONS,
    notes:
      'The lab names what is not installed and leaves it out. Ctrl-C stops everything that was started.',
  },

  async main(argv) {
    try {
      return await visitOf(argv, this.help)
    } catch (error) {
      throw inLanguage(error, languageIn(argv, languageOf(process.env)))
    }
  },
}

async function visitOf(argv: readonly string[], help: Command['help']): Promise<number> {
  const parsed = parseOptions(LAB_OPTIONS, argv)
  if (parsed.values.help === true) {
    process.stdout.write(helpIn(languageFrom(parsed.values), help))
    return EXIT.ok
  }
  const [word = 'tour', ...names] = operandsOf(parsed)
  const extra = names[word === 'strategies' ? 1 : 0]
  if (extra !== undefined) throw new LabUsageError('manyTopics', { extra: JSON.stringify(extra) })
  const topic = oneOf(TOPIC, word, LAB_TOPICS)
  refuseOptionsOfOthers(topic, parsed.values)
  if (parsed.values.html !== undefined) assertPage(parsed.values.html)
  const texts = textsOf(languageFrom(parsed.values))
  if (topic === 'strategies') return showStrategies(names[0], texts, parsed.values.json === true)
  return visitLab(topic, parsed.values, texts)
}

function helpIn(language: Language, page: Command['help']): string {
  const { help } = textsOf(language)
  if (help === undefined) return renderHelp(page)
  const options = Object.fromEntries(
    Object.entries(page.options).map(([name, spec]) => [
      name,
      { ...spec, help: help.options[name] ?? spec.help },
    ]),
  )
  return renderHelp({ ...page, about: help.about, options, notes: help.notes })
    .replace(/^Usage: .*$/m, help.usage)
    .replace(/^Options:$/m, help.heading)
}

async function visitLab(topic: Topic, values: LabValues, texts: Texts): Promise<number> {
  const screen = new Screen(values.json === true)
  const visit = new Visit(servicesFrom(values))
  const signals = endOnSignals(visit, screen, texts)
  try {
    const played = show(topic, values, visit, screen, texts)
    // In `choose`, a store whose server dies is a row, and the others are measured.
    const part = await (topic === 'choose' ? played : visit.unlessServersDie(played))
    const leftOut = visit.services.leftOut
    for (const { service, command } of leftOut) {
      if (topic !== 'ladder') screen.print(fill(texts.leftOut.service, { what: service, command }))
    }
    const report: LabReport = {
      language: languageFrom(values),
      madeAt: new Date().toISOString(),
      ...part,
      leftOut,
    }
    if (values.html !== undefined) writePage(values.html, report)
    if (values.json === true) printJson(report)
    return surprises(report) ? EXIT.internal : EXIT.ok
  } catch (error) {
    // What fails because everything is being stopped is no news. A signal that came while a server
    // was being set up, which is done in one step, is heard in the next tick.
    await new Promise((resolve) => void setImmediate(resolve))
    if (signals.code === undefined) throw error
    await signals.ended
    return signals.code
  } finally {
    screen.clear()
    await visit.end()
    signals.forget()
  }
}

async function show(
  topic: Topic,
  values: LabValues,
  visit: Visit,
  screen: Screen,
  texts: Texts,
): Promise<Partial<LabReport>> {
  const scenario = EVERYDAY.find(({ id }) => id === topic)
  if (scenario) return { everyday: [await showEveryday(scenario, visit, screen, texts)] }
  if (topic === 'oversell') {
    const oversell = await showOversell(oversellFrom(values), visit, screen, texts)
    if (oversell.rows.length === 0)
      throw missing([...new Set(oversell.leftOut.map((one) => one.missing))], visit, texts)
    return { oversell }
  }
  if (topic === 'choose') return { choice: await showChoice(values, visit, screen, texts) }
  if (topic === 'ladder') {
    const ladder = await showLadder(visit, screen, texts)
    if (ladder) return { ladder }
    throw missing(['redis'], visit, texts)
  }
  visit.services.allow(() => false)
  return { oversell: await showOversell(oversellFrom(TOUR), visit, screen, texts) }
}

/** Says what is missing, and for each service what installs it. */
function missing(
  names: readonly string[],
  { services }: Visit,
  { errors, punctuation: { open, close, comma } }: Texts,
): Error {
  const listed = names.map((name) => {
    const command = services.leftOut.find(({ service }) => service === name)?.command
    return `${name}${open}${command ?? errors.leftOutBy}${close}`
  })
  return new LabConfigError('missing', { listed: listed.join(comma) })
}

/** Whether something broke that should have held, or the other way round. */
function surprises({ oversell, ladder, everyday = [] }: LabReport): boolean {
  return (
    (oversell?.rows.some(({ sound, damaged }) => sound === damaged) ?? false) ||
    (ladder?.steps.some(({ asExpected }) => !asExpected) ?? false) ||
    everyday.some(({ asExpected }) => !asExpected)
  )
}

/** A closed window sends SIGHUP. Without a listener, the started servers would stay. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const

interface Signals {
  /** The exit code, once a signal has come. */
  readonly code: number | undefined
  /** Resolves never, since the process ends when everything has been stopped. */
  readonly ended: Promise<void>
  forget(): void
}

/** Ctrl-C in the middle: stops everything, then ends. A second one does not wait. */
function endOnSignals(visit: Visit, screen: Screen, texts: Texts): Signals {
  let code: number | undefined
  const listeners = Object.entries(SIGNALS).map(([signal, exitCode]) => {
    const listener = (): void => {
      if (code !== undefined) process.exit(exitCode)
      code = exitCode
      screen.clear()
      void visit.end().finally(() => {
        process.stderr.write(`${texts.interrupted}\n`)
        process.exit(exitCode)
      })
    }
    process.on(signal, listener)
    return [signal, listener] as const
  })
  return {
    get code() {
      return code
    },
    ended: new Promise(() => {}),
    forget: () => listeners.forEach(([signal, listener]) => process.off(signal, listener)),
  }
}
