/** Runs the controls: each must be caught, and the good lock must not. */
import { CONTROLS, goodLock, type Control } from '@holdfast/broken-locks'
import { markdownTable } from '../table.js'
import { drawControlCase } from './case.js'
import { examineControl } from './examine.js'
import { CONTROL_SCENARIOS } from './scenarios.js'

export interface Rate {
  readonly id: string
  readonly seeds: number
  caught: number
  first: number | undefined
  /** What was found broken, and in how many seeds. */
  readonly properties: Map<string, number>
}

export interface RateOptions {
  readonly firstSeed: number
  readonly seeds: number
  /** Stop at the first seed that catches it. */
  readonly once?: boolean
}

export async function rateOf(
  id: string,
  create: Control['create'],
  { firstSeed, seeds, once = false }: RateOptions,
): Promise<Rate> {
  const rate: Rate = { id, seeds, caught: 0, first: undefined, properties: new Map() }
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const { findings } = await examineControl(create, drawControlCase(seed))
    if (findings.length === 0) continue
    rate.caught += 1
    rate.first ??= seed
    for (const property of new Set(findings.map((finding) => finding.property))) {
      rate.properties.set(property, (rate.properties.get(property) ?? 0) + 1)
    }
    if (once) break
  }
  return rate
}

/** What the scenario for a control finds broken; undefined where there is none. */
export async function scenarioFindings(
  id: string,
  create: Control['create'],
): Promise<readonly string[] | undefined> {
  const plan = CONTROL_SCENARIOS.get(id)
  if (!plan) return undefined
  const { findings } = await examineControl(create, plan)
  return [...new Set(findings.map(({ property }) => property))]
}

export async function searchControls(
  options: RateOptions,
  progress: (text: string) => void,
): Promise<number> {
  const rows: string[][] = []
  const missed: string[] = []
  progress('the good lock')
  const good = await rateOf('good', goodLock, options)
  rows.push(row(good, 'none', undefined))
  for (const control of CONTROLS) {
    const { id, caught } = control
    const create: Control['create'] = (world, settings) => control.create(world, settings)
    progress(`control ${rows.length} of ${CONTROLS.length}: ${id}`)
    const rate = await rateOf(id, create, options)
    const directed = await scenarioFindings(id, create)
    if (rate.caught === 0 && (directed ?? []).length === 0) missed.push(id)
    rows.push(row(rate, caught.perSeed === undefined ? '—' : percent(caught.perSeed), directed))
  }
  progress('')
  console.log(markdownTable(['control', 'expected', 'caught', 'first seed', 'as'], rows))
  if (missed.length > 0) console.error(`Not caught: ${missed.join(', ')}.`)
  if (good.caught > 0) console.error(`The good lock was caught, first by seed ${good.first}.`)
  return missed.length === 0 && good.caught === 0 ? 0 : 1
}

function row(rate: Rate, expected: string, directed: readonly string[] | undefined): string[] {
  const properties = [...rate.properties.entries()]
    .sort((a, b) => b[1] - a[1])
    .map(([name]) => name)
  const scenario = directed === undefined ? '' : `scenario: ${directed.join(', ') || 'nothing'}`
  const as = [properties.join(', '), scenario].filter((text) => text !== '').join('; ')
  const first = rate.first === undefined ? '—' : String(rate.first)
  return [
    rate.id,
    expected,
    `${percent(rate.caught / rate.seeds)} of ${rate.seeds}`,
    first,
    as || '—',
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10}%`
}
