/**
 * How many database files serve the embedded store best: builds of this checkout that differ in
 * that number alone take turns. A round of all of them is compared within itself. The bare
 * statements show what SQLite allows.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rate, type Row } from '../report.js'
import { inWords, medianRate, pair, ratesOf } from '../paired.js'
import { runRounds, runSubject, type BenchSubject, type Figures } from '../rounds.js'
import { median, medianInterval } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const FILES = [1, 2, 4, 8]
const PACKAGE = 'packages/holdfast'
const CONSTANT = /exports\.FILES = \d+;/

const WORKLOADS: readonly BenchSubject[] = [
  ['one process, one at a time', '1', '1'],
  ['one process, 64 in flight', '1', '64'],
  ['four processes, one at a time each', '4', '1'],
  ['four processes, 64 in flight each', '4', '64'],
].map(([name = '', ...args]) => ({ name, module: 'embedded-files', args }))

/** The first is compared with the others. */
const BARE: readonly BenchSubject[] = [
  ['bare statements, one process', '1', '1'],
  ['bare statements, four processes, one file', '4', '1'],
  ['bare statements, four processes, four files', '4', '4'],
].map(([name = '', ...args]) => ({ name, module: 'embedded-bare', args }))

export const suite: BenchSuite = { measure }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-files-'))
  try {
    const builds = FILES.map((files) => ({ files, checkout: build(folder, files) }))
    const rows: Row[] = []
    for (const workload of WORKLOADS) {
      const rates = new Map<number, Figures[]>(FILES.map((files) => [files, []]))
      for (let round = 0; round <= rounds; round += 1) {
        // Another build is the first in each round.
        const order = [...builds.slice(round % 4), ...builds.slice(0, round % 4)]
        for (const { files, checkout } of order) {
          progress(`round ${round} of ${rounds}: ${workload.name}, ${files} files`)
          const figures = await runSubject(workload, checkout)
          if (round > 0) rates.get(files)?.push(figures)
        }
      }
      rows.push(...rowsOf(workload.name, rates))
    }
    return [...rows, ...(await measureBare(rounds, progress))]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measureBare(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const results = await runRounds(BARE, rounds, (text) => progress(`embedded, ${text}`))
  const of = (name: string, figure: string): number[] =>
    results.get(name)?.map((round) => round[figure] ?? NaN) ?? []
  const [first = ''] = BARE.map(({ name }) => name)
  return BARE.map(({ name }) => {
    const [pairs, cpuUsPerPair] = [ratesOf(results.get(name)), of(name, 'cpuUsPerPair')]
    const ratio = inWords(pair(pairs, ratesOf(results.get(first))))
    const work = inWords(pair(cpuUsPerPair, of(first, 'cpuUsPerPair')))
    return {
      workload: `embedded, ${name}`,
      measured: `${medianRate(pairs)}, ${median(cpuUsPerPair).toFixed(0)} µs of a processor a pair`,
      against: name === first ? '' : `${ratio} of one process, ${work} of its processor time`,
      bar: '',
      reached: true,
      rounds: { pairs, cpuUsPerPair },
    }
  })
}

/** Copies the package with another number of files. Returns the path of the checkout. */
function build(folder: string, files: number): string {
  const checkout = join(folder, String(files))
  for (const part of ['package.json', 'dist']) {
    cpSync(join(ROOT, PACKAGE, part), join(checkout, PACKAGE, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  const path = join(checkout, PACKAGE, 'dist/stores/embedded/folder/state-folder.js')
  const text = readFileSync(path, 'utf8')
  if (!CONSTANT.test(text)) throw new Error(`${path} does not set the number of files`)
  writeFileSync(path, text.replace(CONSTANT, `exports.FILES = ${files};`))
  return checkout
}

function rowsOf(workload: string, rounds: ReadonlyMap<number, readonly Figures[]>): Row[] {
  const ofOne = rounds.get(1) ?? []
  return [...rounds].map(([files, figures]) => {
    const valuesOf = (figure: string): number[] => figures.map((round) => round[figure] ?? NaN)
    const ratio = (figure: string): string => {
      const ratios = valuesOf(figure).map((value, round) => value / (ofOne[round]?.[figure] ?? NaN))
      const { low, high } = medianInterval(ratios)
      return `${median(ratios).toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`
    }
    const against = `${ratio('pairs')} of the pairs, ${ratio('cpuUsPerPair')} of the processor time`
    return {
      workload: `embedded, ${workload}, ${files} ${files === 1 ? 'file' : 'files'}`,
      measured: rate(median(valuesOf('pairs'))),
      against: files === 1 ? '' : against,
      bar: '',
      reached: true,
      rounds: { pairs: valuesOf('pairs'), cpuUsPerPair: valuesOf('cpuUsPerPair') },
    }
  })
}
