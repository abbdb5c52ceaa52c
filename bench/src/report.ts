/** From figures to a table for people and a file for programs. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { measuredCommit, type MeasuredCommit } from './measured-commit.js'
import type { Figures } from './rounds.js'
import { median } from './stats.js'
import { showTable } from './table.js'

/** A line of the table. */
export interface Row {
  readonly workload: string
  readonly measured: string
  readonly against: string
  /** What must be reached, in words. */
  readonly bar: string
  readonly reached: boolean
  /** The figures behind it, by round. */
  readonly rounds: Readonly<Record<string, readonly number[]>>
}

/** A file of results. */
export interface Results extends MeasuredCommit {
  readonly suite: string
  readonly recorded: string
  readonly machine: {
    readonly node: string
    readonly platform: string
    readonly cores: number
    /** How many processes wanted a core before the run began. Absent in older results. */
    readonly load?: number
  }
  readonly rows: readonly Row[]
}

const LOAD_BEFORE = Math.round(loadavg()[0] ?? 0)

export function printTable(title: string, rows: readonly Row[]): void {
  const head = ['workload', 'Holdfast', 'against', 'must be', '']
  const cells = rows.map((row) => [
    row.workload,
    row.measured,
    row.against,
    row.bar,
    verdictOf(row),
  ])
  showTable(title, head, cells)
}

export function verdictOf({ bar, reached }: Row): string {
  if (bar === '') return ''
  return reached ? 'reached' : 'MISSED'
}

export function writeResults(suite: string, rows: readonly Row[]): string {
  const folder = fileURLToPath(new URL('../results/', import.meta.url))
  mkdirSync(folder, { recursive: true })
  const path = `${folder}${suite}.json`
  const result: Results = { suite, ...recordedOn(), rows }
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  return path
}

/**
 * A row about the garbage of a workload; none where its subject counts none. Bytes allocated for
 * one acquire and release, and the share of the time that the main thread stood still for a
 * collection.
 */
export function garbageRows(workload: string, rounds: readonly Figures[]): Row[] {
  const valuesOf = (figure: string): number[] => rounds.flatMap((round) => round[figure] ?? [])
  const [bytes, shares] = [valuesOf('bytesPerPair'), valuesOf('collectingShare')]
  if (bytes.length === 0) return []
  const share = `${Math.round(median(shares) * 100)}% of the time in collections`
  return [
    {
      workload: `${workload}: garbage`,
      measured: `${(median(bytes) / 1000).toFixed(1)} kB a pair, ${share}`,
      against: '',
      bar: '',
      reached: true,
      rounds: { bytesPerPair: bytes, collectingShare: shares },
    },
  ]
}

/** The day, the commit and the machine, for a file of results. */
export function recordedOn(): Pick<Results, 'recorded' | 'machine'> & MeasuredCommit {
  return {
    recorded: new Date().toISOString().slice(0, 10),
    ...measuredCommit(),
    machine: {
      node: process.version,
      platform: process.platform,
      cores: cpus().length,
      load: LOAD_BEFORE,
    },
  }
}

/** 123456 → "123 k". */
export function rate(perSecond: number): string {
  if (perSecond >= 10_000) return `${Math.round(perSecond / 1000)} k/s`
  if (perSecond >= 1000) return `${(perSecond / 1000).toFixed(1)} k/s`
  return `${Math.round(perSecond)} /s`
}

export function ms(value: number): string {
  return value < 10 ? `${value.toFixed(2)} ms` : `${Math.round(value)} ms`
}
