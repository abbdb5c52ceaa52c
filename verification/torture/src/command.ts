/** The command line: what may be asked for, and what is said when something else is. */
import { parseArgs } from 'node:util'
import { mendedFaults } from './command-line/shape.js'
import {
  FAULT_KINDS,
  FAULTS,
  isFaultKind,
  isRunFaultKind,
  RUN_FAULT_KINDS,
  type AnyFaultKind,
  type FaultKind,
} from '@holdfast/stores/faults/catalogue'
import { canBeDriven } from './faults/drivable.js'
import { MUTATION_NAMES, MUTATIONS } from './mutations.js'
import { faultsOf, promisedFaults } from './promised.js'
import type { SubjectName } from './protocol.js'
import { STORE_NAMES, storeOf, STORES } from '@holdfast/stores'
import { SUBJECT_NAMES } from './subjects/names.js'

/** Stores that the command line reaches. */
const COMMAND_LINE_STORES = STORES.filter(({ torture }) => torture.url).map(({ name }) => name)

export interface Command {
  readonly stores: readonly string[]
  readonly subjects: readonly SubjectName[]
  readonly seconds: number
  readonly seed: number
  /** How many waiters crowd two locks, of all clients together. */
  readonly waiters: number
  /** Which faults a store meets. */
  readonly faultsFor: (store: string) => readonly AnyFaultKind[]
  /** Of a recording, only this cell, in which all promised faults come together. */
  readonly together: Together | undefined
  /** Show the schedule and do nothing. */
  readonly plan: boolean
  readonly mutation: string | undefined
  /** Where to write the history and the report of the run. */
  readonly history: string | undefined
  readonly report: string | undefined
  /** Run each cell of the guarantees by itself, and keep the results. */
  readonly record: boolean
}

/** `passed-on`: with leases that are adopted, and releases that are not awaited. */
const TOGETHER = ['mixed', 'passed-on'] as const
type Together = (typeof TOGETHER)[number]

function isTogether(name: string | undefined): name is Together {
  return TOGETHER.some((one) => one === name)
}

export class UsageError extends Error {}

const SECONDS = 20
const LONGEST_SECONDS = 86_400
const MOST_WAITERS = 10_000

export const USAGE = `npm run torture -- [--store NAME] [--seconds N] [--seed S] [--faults a,b,…] …

  --store NAME     which store; may be repeated, or a list with commas (default: all)
${STORE_NAMES.map((name) => `                   ${name}: ${storeOf(name).title}`).join('\n')}
  --seconds N      how long things go wrong (default ${SECONDS})
  --seed S         the schedule of the faults comes from it (default 1)
  --waiters N      waiters that crowd two locks beside the actors, in all (default 0; library only)
  --faults LIST    which faults, with commas; or promised (the default), all, none
${FAULT_KINDS.map((kind) => `                   ${kind}: ${FAULTS[kind].title}`).join('\n')}
${RUN_FAULT_KINDS.map((kind) => `                   ${kind}: ${FAULTS[kind].title} (command line)`).join('\n')}
  --plan           show the schedule, and do nothing
  --subject NAME   try something else: command-line (\`holdfast run\`,
                   on ${COMMAND_LINE_STORES.join(', ')}), or another lock on the same Redis:
                   ${SUBJECT_NAMES.filter((name) => name.includes(':')).join(', ')};
                   may be repeated; controls and peers stand for all of theirs
  --mutation NAME  try a library that is broken on purpose: ${MUTATION_NAMES.join(', ')}
  --history FILE   write the history of the last run, one line of JSON an event
  --report FILE    write a page with the timeline, the violations and the figures
  --record         run each fault of each store by itself, then all promised ones together
                   (--faults mixed or passed-on: only those, under that name),
                   and keep the results in
                   verification/torture/results for docs/guarantees.md
  --help           show this

Ends with 0 when every promise was kept, with 1 when one was broken, with 64 when it was called
wrongly, with 69 when a server is not installed, and with 130 when it was interrupted.`

export function parseCommand(args: readonly string[]): Command | 'help' {
  const values = parse(args)
  if (values.help === true) return 'help'
  const subjects =
    values.subject === undefined
      ? ['holdfast' as const]
      : listOf(values.subject).flatMap(subjectNames)
  const commandLine = subjects.includes('command-line')
  const usualStores = commandLine ? COMMAND_LINE_STORES : STORE_NAMES
  const stores = values.store === undefined ? usualStores : listOf(values.store).map(storeName)
  assertTogether(stores, subjects)
  if (values.waiters !== undefined) assertLibrary(subjects)
  const usual = values.record === true && !commandLine ? 'all' : 'promised'
  const faults = listOf([values.faults ?? usual])
  const kindsFor = (store: string): AnyFaultKind[] =>
    faultsFor(store, faults, { several: stores.length > 1, commandLine })
  for (const store of stores) kindsFor(store)
  return {
    stores: [...new Set(stores)],
    subjects: [...new Set(subjects)],
    seconds: wholeNumber('seconds', values, { least: 1, most: LONGEST_SECONDS, usual: SECONDS }),
    seed: wholeNumber('seed', values, { least: 0, most: 2 ** 32, usual: 1 }),
    waiters: wholeNumber('waiters', values, { least: 0, most: MOST_WAITERS, usual: 0 }),
    faultsFor: kindsFor,
    together: isTogether(values.faults) ? values.faults : undefined,
    plan: values.plan === true,
    mutation:
      values.mutation === undefined ? undefined : mutationName(values.mutation, commandLine),
    history: values.history,
    report: values.report,
    record: values.record === true,
  }
}

function assertLibrary(subjects: readonly SubjectName[]): void {
  if (subjects.every((subject) => subject === 'holdfast')) return
  throw new UsageError(
    'Waiters crowd the locks of the library only: leave out --waiters, or --subject.',
  )
}

/** @throws UsageError when a subject cannot be tried on a store, or beside another one. */
function assertTogether(stores: readonly string[], subjects: readonly SubjectName[]): void {
  if (subjects.includes('command-line')) {
    if (subjects.length > 1)
      throw new UsageError('The command line is tried by itself: name no other subject.')
    const without = stores.find((store) => !COMMAND_LINE_STORES.includes(store))
    if (without === undefined) return
    throw new UsageError(
      `The command line is not tried on ${without}. Choose among: ${COMMAND_LINE_STORES.join(', ')}.`,
    )
  }
  const elsewhere = stores.find((store) => store !== 'redis')
  if (elsewhere !== undefined && subjects.some((subject) => subject !== 'holdfast')) {
    throw new UsageError(
      `Controls and peers are locks on Redis: say --store redis, not ${elsewhere}.`,
    )
  }
}

interface Values {
  readonly store?: string[]
  readonly subject?: string[]
  readonly seconds?: string
  readonly seed?: string
  readonly waiters?: string
  readonly faults?: string
  readonly plan?: boolean
  readonly mutation?: string
  readonly history?: string
  readonly report?: string
  readonly record?: boolean
  readonly help?: boolean
}

function parse(args: readonly string[]): Values {
  const text = { type: 'string' } as const
  const texts = { type: 'string', multiple: true } as const
  const flag = { type: 'boolean' } as const
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        store: texts,
        subject: texts,
        seconds: text,
        seed: text,
        waiters: text,
        faults: text,
        plan: flag,
        mutation: text,
        history: text,
        report: text,
        record: flag,
        help: flag,
      },
    })
    return values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function listOf(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(',')).map((name) => name.trim())
}

function wholeNumber(
  name: 'seconds' | 'seed' | 'waiters',
  { [name]: text }: Values,
  { least, most, usual }: Record<'least' | 'most' | 'usual', number>,
): number {
  if (text === undefined) return usual
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`--${name} takes a whole number from ${least} to ${most}, not "${text}".`)
}

function storeName(name: string): string {
  if (STORE_NAMES.includes(name)) return name
  throw new UsageError(`There is no store "${name}". Choose among: ${STORE_NAMES.join(', ')}.`)
}

function subjectNames(name: string): SubjectName[] {
  if (name === 'controls' || name === 'peers') {
    return SUBJECT_NAMES.filter((one) => one.startsWith(`${name.slice(0, -1)}:`))
  }
  const found = SUBJECT_NAMES.find((one) => one === name)
  if (found) return [found]
  throw new UsageError(
    `There is no subject "${name}". Choose among: ${SUBJECT_NAMES.join(', ')}, controls, peers.`,
  )
}

function mutationName(name: string, commandLine: boolean): string {
  const mutation = MUTATIONS.find((one) => one.name === name)
  if (!mutation) {
    throw new UsageError(
      `There is no mutation "${name}". Choose among: ${MUTATION_NAMES.join(', ')}.`,
    )
  }
  if ((mutation.of === 'cli') === commandLine) return name
  const its = mutation.of === 'cli' ? 'the command line' : 'the library'
  throw new UsageError(
    `The mutation ${name} is one of ${its}: choose another one, or another --subject.`,
  )
}

/** Faults that the command line does not meet. */
const OF_LIBRARY = {
  abandon: 'the command line always has a process that contends',
  block: 'a run computes in a process of its own',
} as const

function isOfLibrary(name: string): name is keyof typeof OF_LIBRARY {
  return Object.hasOwn(OF_LIBRARY, name)
}

interface Meeting {
  /** Leave out what one of several stores cannot meet, rather than refuse it. */
  readonly several: boolean
  /** The command line is tried, which has faults of its own. */
  readonly commandLine: boolean
}

function faultsFor(
  store: string,
  names: readonly string[],
  { several, commandLine }: Meeting,
): AnyFaultKind[] {
  const own = commandLine ? [...mendedFaults(store), ...RUN_FAULT_KINDS] : []
  const isMet = (kind: FaultKind): boolean =>
    canBeDriven(kind) && !(commandLine && isOfLibrary(kind))
  return names.flatMap((name): AnyFaultKind[] => {
    if (name === 'promised' || isTogether(name))
      return [...promisedFaults(store).filter(isMet), ...own]
    if (name === 'all') return [...new Set([...faultsOf(store).filter(isMet), ...own])]
    if (name === 'none' || name === '') return []
    if (isOfLibrary(name) && commandLine)
      throw new UsageError(`The fault ${name} is one of the library: ${OF_LIBRARY[name]}.`)
    if (isRunFaultKind(name)) {
      if (commandLine) return [name]
      throw new UsageError(
        `The fault ${name} meets only the command line: say --subject command-line.`,
      )
    }
    if (!isFaultKind(name)) {
      const known = [...FAULT_KINDS, ...RUN_FAULT_KINDS]
      throw new UsageError(`There is no fault "${name}". Choose among: ${known.join(', ')}.`)
    }
    const cell = storeOf(store).torture.promises[name]
    if (cell.verdict !== 'absent') return [name]
    if (several) return []
    throw new UsageError(`The fault ${name} does not meet the store ${store}: ${cell.because}.`)
  })
}
