/** Runs what the command line asks for, and prints the story of what failed. */
import { writeFileSync } from 'node:fs'
import { formatEvent } from '@holdfast/conformance'
import { drawCase } from './case.js'
import { UsageError, type Command } from './command.js'
import { examine, explore, type Examined, type Tally } from './explore.js'
import { searchControls } from './controls/search.js'
import type { Finding } from './judge/judge.js'
import { promisesOf } from './judge/promises.js'
import { MUTATIONS } from './mutations/catalogue.js'
import { mutated } from './mutations/mutate.js'
import { searchMutations } from './mutations/search.js'
import { simulateDeadlocks } from './deadlocks/explore.js'
import { realRuntime, type Runtime } from './runtime.js'
import type { StoreName } from './server/models.js'
import { shrink } from './shrink.js'
import { tellStory } from './story.js'
import { formatTable } from './table.js'

/** How many failing seeds of a store are shown in full. */
const MOST_STORIES = 2
const SHRINK_LIMITS = { mostRuns: 400 }
const PROGRESS_EVERY_MS = 2000

export async function simulate(command: Command): Promise<number> {
  if (command.mutations) return searchMutations(showProgress)
  if (command.controls) return searchControls(command, showProgress)
  if (command.deadlocks) return simulateDeadlocks(command, showProgress)
  const runtime = await runtimeOf(command)
  const tallies: Tally[] = []
  for (const store of command.stores) {
    const tally = await explore({ ...command, store, runtime, progress: progressOf(command.seeds) })
    showProgress('')
    tallies.push(tally)
    for (const { seed } of tally.failed.slice(0, MOST_STORIES))
      await report(command, store, seed, runtime)
  }
  if (command.history !== undefined) await writeHistory(command, command.history, runtime)
  console.log(table(tallies))
  return tallies.some(({ failed }) => failed.length > 0) ? 1 : 0
}

async function runtimeOf({ mutation: name }: Command): Promise<Runtime> {
  if (name === undefined) return realRuntime
  const mutation = MUTATIONS.find((one) => one.name === name)
  if (mutation) return mutated(mutation)
  const names = MUTATIONS.map((one) => one.name).join(', ')
  throw new UsageError(`There is no mutation "${name}". Choose among: ${names}.`)
}

async function report(
  command: Command,
  store: StoreName,
  seed: number,
  runtime: Runtime,
): Promise<void> {
  const examined = await examine(drawCase(seed, store), runtime)
  const [first] = examined.findings
  if (!first)
    throw new Error(`Seed ${seed} failed once and not again: the simulation is not deterministic.`)
  const shortest = await shortestStory(examined, first, runtime)
  const mutation = command.mutation === undefined ? '' : ` --mutation ${command.mutation}`
  console.log(`\nseed ${seed}, store ${store}: ${examined.findings.length} findings`)
  console.log(`replay: npm run simulate -- --store ${store} --seed ${seed}${mutation}`)
  console.log(describeCut(examined, shortest))
  console.log(
    tellStory(shortest.plan, shortest.outcome, shortest.findings.find(isLike(first)) ?? first),
  )
}

async function shortestStory(
  examined: Examined,
  first: Finding,
  runtime: Runtime,
): Promise<Examined> {
  const stillFails = async (candidate: Examined['plan']): Promise<boolean> =>
    (await examine(candidate, runtime)).findings.some(isLike(first))
  return examine(await shrink(examined.plan, stillFails, SHRINK_LIMITS), runtime)
}

function isLike({ property }: Finding): (other: Finding) => boolean {
  return (other) => other.property === property
}

function describeCut({ plan: whole }: Examined, { plan: cut }: Examined): string {
  const operations = (plan: typeof whole): number =>
    plan.actors.reduce((sum, { operations: its }) => sum + its.length, 0)
  const { because } = promisesOf(cut)
  return (
    `cut down from ${whole.faults.length} to ${cut.faults.length} faults, from ${whole.actors.length} to ` +
    `${cut.actors.length} actors, from ${operations(whole)} to ${operations(cut)} operations` +
    (because.length === 0 ? '' : `; not everything was promised, since ${because.join(' and ')}`)
  )
}

async function writeHistory(command: Command, file: string, runtime: Runtime): Promise<void> {
  const store = command.stores.at(-1) as StoreName
  const { outcome } = await examine(drawCase(command.firstSeed + command.seeds - 1, store), runtime)
  writeFileSync(file, outcome.events.map((event) => `${formatEvent(event)}\n`).join(''))
  console.log(`history: ${file}`)
}

function table(tallies: readonly Tally[]): string {
  const rows = tallies.map((tally) => [
    tally.store,
    String(tally.seeds),
    String(tally.exclusionPromised),
    String(tally.tokensPromised),
    String(tally.faults),
    String(tally.holds),
    String(tally.events),
    `${tally.longestDrainMs.toFixed(0)} ms`,
    `${(tally.elapsedMs / 1000).toFixed(1)} s`,
    ((tally.seeds / tally.elapsedMs) * 60_000).toFixed(0),
    failures(tally),
  ])
  const head = [
    'store',
    'seeds',
    'exclusion promised',
    'tokens promised',
    'faults',
    'leases',
    'events',
  ]
  return `\n${formatTable([...head, 'longest drain', 'time', 'seeds a minute', 'failed'], rows)}`
}

function failures({ failed }: Tally): string {
  if (failed.length === 0) return 'none'
  const shown = failed
    .slice(0, 5)
    .map(({ seed, properties }) => `${seed} (${properties.join(', ')})`)
  return `${failed.length}: ${shown.join(' ')}${failed.length > shown.length ? ' …' : ''}`
}

function progressOf(seeds: number): (tally: Tally) => void {
  let nextMs = performance.now() + PROGRESS_EVERY_MS
  return (tally) => {
    if (performance.now() < nextMs) return
    nextMs = performance.now() + PROGRESS_EVERY_MS
    showProgress(`${tally.store}: ${tally.seeds} of ${seeds} seeds, ${tally.failed.length} failed`)
  }
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else if (text !== '') console.error(text)
}
