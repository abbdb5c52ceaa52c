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
  /** The floor of the row in words, and whether it reaches what must be reached (`floor.ts`). */
  readonly floor?: string
  readonly floorReaches?: boolean
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
  const { head, lines } = tableOf(rows)
  showTable(title, head, lines)
}

/** Returns the rows as a table, with a column for the floors where there are any. */
export function tableOf(rows: readonly Row[]): { head: string[]; lines: string[][] } {
  const columns = new Map<string, (row: Row) => string>([
    ['workload', (row) => row.workload],
    ['Holdfast', (row) => row.measured],
    ['against', (row) => row.against],
    ...(rows.some(({ floor }) => floor !== undefined)
      ? ([['floor', (row: Row) => row.floor ?? '']] as const)
      : []),
    ['must be', (row) => row.bar],
    ['', verdictOf],
  ])
  return {
    head: [...columns.keys()],
    lines: rows.map((row) => [...columns.values()].map((cell) => cell(row))),
  }
}

export function verdictOf({ bar, reached, floorReaches }: Row): string {
  if (bar === '') return ''
  if (reached) return 'reached'
  return floorReaches === false ? 'MISSED, by the floor too' : 'MISSED'
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
export function garbageRows(
  workload: string,
  rounds: readonly Figures[],
  { mostBytes, floor = [] }: GarbageLimits = {},
): Row[] {
  const [bytes, shares] = [valuesIn(rounds, 'bytesPerPair'), valuesIn(rounds, 'collectingShare')]
  const old = valuesIn(rounds, 'oldBytesPerPair')
  if (bytes.length === 0) return []
  const share = `${Math.round(median(shares) * 100)}% of the time in collections`
  const ofFloor = valuesIn(floor, 'bytesPerPair')
  const isBelow = (values: readonly number[]): boolean => median(values) <= (mostBytes ?? Infinity)
  return [
    {
      workload: `${workload}: garbage`,
      measured: `${kilobytes(bytes)} a pair, ${kilobytes(old)} of it grows old, ${share}`,
      against: '',
      ...(ofFloor.length === 0
        ? {}
        : { floor: `${kilobytes(ofFloor)} a pair`, floorReaches: isBelow(ofFloor) }),
      bar: mostBytes === undefined ? '' : `≤ ${mostBytes / 1000} kB`,
      reached: isBelow(bytes),
      rounds: {
        bytesPerPair: bytes,
        oldBytesPerPair: old,
        collectingShare: shares,
        ...(ofFloor.length === 0 ? {} : { floor: ofFloor }),
      },
    },
  ]
}

export interface GarbageLimits {
  /** Bytes that a pair may leave. */
  readonly mostBytes?: number
  /** The figures of the floor. */
  readonly floor?: readonly Figures[]
}

function valuesIn(rounds: readonly Figures[], name: string): number[] {
  return rounds.flatMap((round) => round[name] ?? [])
}

function kilobytes(bytes: readonly number[]): string {
  return `${(median(bytes) / 1000).toFixed(1)} kB`
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
