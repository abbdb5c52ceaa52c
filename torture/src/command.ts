/** The command line: what may be asked for, and what is said when something else is. */
import { parseArgs } from 'node:util'
import { canHaveNetwork } from '@holdfast/servers/network'
import { FAULT_KINDS, FAULTS, isFaultKind, type FaultKind } from './faults/catalogue.js'
import { MUTATION_NAMES } from './mutations.js'
import { faultsOf, PROMISES, promisedFaults } from './promised.js'
import type { SubjectName } from './protocol.js'
import { isStoreName, STORE_NAMES, STORES, type StoreName } from './stores.js'
import { SUBJECT_NAMES } from './subjects/names.js'

export interface Command {
  readonly stores: readonly StoreName[]
  readonly subjects: readonly SubjectName[]
  readonly seconds: number
  readonly seed: number
  /** Which faults a store meets. */
  readonly faultsFor: (store: StoreName) => readonly FaultKind[]
  /** Only all promised faults together: of a recording, that one cell. */
  readonly mixed: boolean
  /** Show the schedule and do nothing. */
  readonly plan: boolean
  readonly mutation: string | undefined
  /** Where to write the history and the report of the run. */
  readonly history: string | undefined
  readonly report: string | undefined
  /** Run each cell of the guarantees by itself, and keep the results. */
  readonly record: boolean
}

export class UsageError extends Error {}

const SECONDS = 20
const LONGEST_SECONDS = 86_400

export const USAGE = `npm run torture -- [--store NAME] [--seconds N] [--seed S] [--faults a,b,…] …

  --store NAME     which store; may be repeated, or a list with commas (default: all)
${STORE_NAMES.map((name) => `                   ${name}: ${STORES[name].title}`).join('\n')}
  --seconds N      how long things go wrong (default ${SECONDS})
  --seed S         the schedule of the faults comes from it (default 1)
  --faults LIST    which faults, with commas; or promised (default: those under which everything is promised), all, none
${FAULT_KINDS.map((kind) => `                   ${kind}: ${FAULTS[kind].title}`).join('\n')}
  --plan           show the schedule, and do nothing
  --subject NAME   try another lock on the same Redis: ${SUBJECT_NAMES.join(', ')};
                   may be repeated; controls and peers stand for all of theirs
  --mutation NAME  try a library that is broken on purpose: ${MUTATION_NAMES.join(', ')}
  --history FILE   write the history of the last run, one line of JSON an event
  --report FILE    write a page with the timeline, the violations and the figures
  --record         run each fault of each store by itself, then all promised ones together (--faults mixed: only that),
                   and keep the results in torture/results for docs/guarantees.md
  --help           show this

Ends with 0 when every promise was kept, with 1 when one was broken, with 64 when it was called wrongly, with 69 when
a server is not installed, and with 130 when it was interrupted.`

export function parseCommand(args: readonly string[]): Command | 'help' {
  const values = parse(args)
  if (values.help === true) return 'help'
  const stores = values.store === undefined ? STORE_NAMES : listOf(values.store).map(storeName)
  const subjects =
    values.subject === undefined ? ['holdfast' as const] : listOf(values.subject).flatMap(subjectNames)
  const elsewhere = stores.find((store) => store !== 'redis')
  if (elsewhere !== undefined && subjects.some((subject) => subject !== 'holdfast')) {
    throw new UsageError(`Controls and peers are locks on Redis: say --store redis, not ${elsewhere}.`)
  }
  const usual = values.record === true ? 'all' : 'promised'
  const faults = listOf([values.faults ?? usual])
  for (const store of stores) faultsFor(store, faults, stores.length > 1)
  return {
    stores: [...new Set(stores)],
    subjects: [...new Set(subjects)],
    seconds:
      values.seconds === undefined ? SECONDS : wholeNumber('seconds', values.seconds, 1, LONGEST_SECONDS),
    seed: values.seed === undefined ? 1 : wholeNumber('seed', values.seed, 0, 2 ** 32),
    faultsFor: (store) => faultsFor(store, faults, stores.length > 1),
    mixed: values.faults === 'mixed',
    plan: values.plan === true,
    mutation: values.mutation === undefined ? undefined : mutationName(values.mutation),
    history: values.history,
    report: values.report,
    record: values.record === true,
  }
}

interface Values {
  readonly store?: string[]
  readonly subject?: string[]
  readonly seconds?: string
  readonly seed?: string
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

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`--${name} takes a whole number from ${least} to ${most}, not "${text}".`)
}

function storeName(name: string): StoreName {
  if (isStoreName(name)) return name
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

function mutationName(name: string): string {
  if (MUTATION_NAMES.includes(name)) return name
  throw new UsageError(`There is no mutation "${name}". Choose among: ${MUTATION_NAMES.join(', ')}.`)
}

/** @param several leave out what one of several stores cannot meet, rather than refuse it */
function faultsFor(store: StoreName, names: readonly string[], several: boolean): FaultKind[] {
  return names.flatMap((name) => {
    if (name === 'promised' || name === 'mixed') return promisedFaults(store).filter(canBeDriven)
    if (name === 'all') return faultsOf(store).filter(canBeDriven)
    if (name === 'none' || name === '') return []
    if (!isFaultKind(name)) {
      throw new UsageError(`There is no fault "${name}". Choose among: ${FAULT_KINDS.join(', ')}.`)
    }
    const cell = PROMISES[store][name]
    if (cell.verdict !== 'absent') return [name]
    if (several) return []
    throw new UsageError(`The fault ${name} does not meet the store ${store}: ${cell.because}.`)
  })
}

/** What only root can do is left out of a mix, and refused with advice where it is asked for by name. */
function canBeDriven(kind: FaultKind): boolean {
  const { needs } = FAULTS[kind]
  if (needs === 'network') return hasNetwork()
  return needs !== 'root' || process.getuid?.() === 0
}

let network: boolean | undefined

function hasNetwork(): boolean {
  return (network ??= canHaveNetwork())
}
