/** Finds what catches each mutation, and prints the table of the documentation. */
import { drawCase } from '../case.js'
import { examine } from '../explore.js'
import type { Finding } from '../judge/judge.js'
import { examineScenario, scenarioNamed } from '../scenarios/index.js'
import { markdownTable } from '../table.js'
import { MUTATIONS } from './catalogue.js'
import { mutated } from './mutate.js'
import type { Mutation } from './mutation.js'

/** A mutation that survives this many seeds counts as not caught. */
export const MOST_SEEDS = 1000

export interface Caught {
  readonly mutation: Mutation
  /** Which seed caught it; a mutation with a scenario has none. */
  readonly seed: number | undefined
  /** Empty when nothing caught it. */
  readonly findings: readonly Finding[]
}

/** Looks for a seed that catches a mutation, or runs the scenario that is for it. */
export async function catchMutation(
  mutation: Mutation,
  firstSeed = 1,
  seeds = MOST_SEEDS,
): Promise<Caught> {
  const runtime = await mutated(mutation)
  if (mutation.scenario !== undefined) {
    const { findings } = await examineScenario(scenarioNamed(mutation.scenario), runtime)
    return { mutation, seed: undefined, findings }
  }
  for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
    const { findings } = await examine(drawCase(seed, mutation.store ?? 'memory'), runtime)
    if (findings.length > 0) return { mutation, seed, findings }
  }
  return { mutation, seed: undefined, findings: [] }
}

export async function searchMutations(progress: (text: string) => void): Promise<number> {
  const all: Caught[] = []
  for (const mutation of MUTATIONS) {
    progress(`mutation ${all.length + 1} of ${MUTATIONS.length}: ${mutation.name}`)
    all.push(await catchMutation(mutation))
  }
  progress('')
  console.log(mutationTable(all))
  const missed = all.filter(({ findings }) => findings.length === 0)
  if (missed.length === 0) return 0
  console.error(`Not caught: ${missed.map(({ mutation }) => mutation.name).join(', ')}.`)
  return 1
}

function mutationTable(all: readonly Caught[]): string {
  const rows = all.map(({ mutation, seed, findings }) => {
    const { name, breaks, masked, scenario, store = 'memory' } = mutation
    const properties = [...new Set(findings.map(({ property }) => property))].join(', ')
    const by = scenario === undefined ? `${store}, seed ${seed ?? 'none'}` : `scenario ${scenario}`
    const together = masked === undefined ? '' : ` (several lines, for ${masked})`
    return [`\`${name}\``, `${breaks}${together}`, by, properties]
  })
  return markdownTable(['mutation', 'the promise that it breaks', 'caught by', 'as'], rows)
}
