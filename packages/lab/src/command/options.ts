/** Reads what `holdfast lab` is asked for. */
import {
  COSTS,
  HAVE,
  HEATS,
  LANGUAGES,
  languageOf,
  MACHINES,
  SERVICES,
  STRATEGIES,
  type Language,
  type OversellSettings,
  type ServiceName,
} from '../index.js'
import { LabUsageError } from './errors.js'
import { type LAB_OPTIONS, nearest, type OptionValues, parseDuration } from 'holdfast/internal'

export type LabValues = OptionValues<typeof LAB_OPTIONS>

/** What is said for one topic alone. */
const OWN_OPTIONS = {
  oversell: ['items', 'buyers', 'processes', 'segments', 'think', 'strategies'],
  choose: ['machines', 'have', 'cost', 'heat', 'no-measure'],
} as const

/**
 * An option that changes nothing here was meant for another topic: the tour, say, is always the
 * same.
 */
export function refuseOptionsOfOthers(topic: string, values: LabValues): void {
  for (const [owner, names] of Object.entries(OWN_OPTIONS)) {
    const name = owner === topic ? undefined : names.find((option) => values[option] !== undefined)
    if (name === undefined) continue
    throw new LabUsageError('ofOther', { name, owner, topic })
  }
}

/** More processes than this only wait for each other's turn on the processor. */
const MOST_PROCESSES = 64
const MOST_BUYERS = 100_000

export function languageFrom({ lang }: LabValues): Language {
  if (lang === undefined) return languageOf(process.env)
  // A locale names its region too: zh-CN, zh_TW.UTF-8.
  return oneOf('--lang', lang.toLowerCase().replace(/[-_.].*$/, ''), LANGUAGES)
}

export function servicesFrom({ services }: LabValues): (name: ServiceName) => boolean {
  if (services === undefined) return () => true
  if (services === 'none') return () => false
  const chosen: readonly string[] = listOf('--services', services, [...SERVICES, 'none'])
  if (chosen.includes('none')) throw new LabUsageError('nothingElse')
  return (name) => chosen.includes(name)
}

export function oversellFrom(values: LabValues): OversellSettings {
  const items = count('--items', values.items ?? '100', 1, MOST_BUYERS)
  const buyers = count('--buyers', values.buyers ?? '500', 1, MOST_BUYERS)
  const processes = count('--processes', values.processes ?? '8', 2, MOST_PROCESSES)
  const segments = count(
    '--segments',
    values.segments ?? String(Math.min(16, items)),
    1,
    MOST_BUYERS,
  )
  if (segments > items) throw new LabUsageError('emptySegments', { segments, items })
  if (buyers <= items) throw new LabUsageError('fewBuyers', { buyers, items })
  const ids = STRATEGIES.map(({ id }) => id)
  const strategies =
    values.strategies === undefined ? [] : listOf('--strategies', values.strategies, ids)
  return {
    items,
    buyers,
    processes,
    segments,
    strategies,
    thinkMs: parseDuration('--think', values.think ?? '10ms'),
  }
}

export function oneOf<T extends string>(option: string, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text)
  if (found !== undefined) return found
  const near = nearest(text, [...choices])
  const values = { option, text: JSON.stringify(text) }
  throw near === undefined
    ? new LabUsageError('unknown', { ...values, choices: choices.join(', ') })
    : new LabUsageError('unknownNear', { ...values, near })
}

export function listOf<T extends string>(option: string, text: string, choices: readonly T[]): T[] {
  return text.split(',').map((word) => oneOf(option, word.trim(), choices))
}

export { COSTS, HAVE, HEATS, MACHINES }

function count(option: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least && number <= most) return number
  throw new LabUsageError('wholeNumber', { option, least, most, text: JSON.stringify(text) })
}
