/** From figures to rows and pages, with figures that were made up. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { besideFloor } from '../../bench/dist/floor.js'
import { bestOf } from '../../bench/dist/paired.js'
import { readablePage } from '../../bench/dist/readable-page.js'
import { rowsOf, subjectsOf } from '../../bench/dist/redis-rows.js'
import { WORKLOADS, type Workload } from '../../bench/dist/redis-workloads.js'
import { tableOf, verdictOf, type Results, type Row } from '../../bench/dist/report.js'
import { runRounds, type Figures } from '../../bench/dist/rounds.js'

const RESULTS = new URL('../../bench/results/', import.meta.url)
const ROUNDS = 5

/** Figures in which each subject has its rate in all rounds. */
function figuresOf(
  { module, ours, peers, beside = [] }: Workload,
  rates: Readonly<Record<string, number>>,
): Map<string, Figures[]> {
  const names = [...ours.flatMap(subjectsOf), ...peers.map(({ name }) => name), ...beside]
  return new Map(
    names.map((name) => {
      const pairs = rates[name] ?? 1000
      const waits =
        module === 'redis-hot' ? { p50Ms: 1, p99Ms: 1e6 / pairs, maxMs: 9, spread: 0 } : {}
      const work = {
        clientUs: 1e5 / pairs,
        serverUs: 1e4 / pairs,
        bytesPerPair: 4000,
        oldBytesPerPair: 0,
      }
      const figures = { pairs, ...waits, ...work, collectingShare: 0 }
      return [name, Array.from({ length: ROUNDS }, () => figures)]
    }),
  )
}

function workloadOf(name: string): Workload {
  const found = WORKLOADS.find(({ ours }) => ours.some((one) => one.name === name))
  if (found === undefined) throw new Error(`There is no workload ${name}.`)
  return found
}

test('the floor of a row says whether it reaches the bar', () => {
  const rates = { ours: [90, 90], floor: [100, 100], peerName: 'verrou' }
  expect(besideFloor({ ...rates, peer: [125, 125], least: 0.95 })).toEqual({
    floor: '100 /s: Holdfast 0.90x [0.90, 0.90] of it, it 0.80x [0.80, 0.80] of verrou',
    floorReaches: false,
  })
  expect(besideFloor({ ...rates, peer: [50, 50], least: 0.95 }).floorReaches).toBe(true)
  expect(besideFloor({ ...rates, peer: [50, 50], least: undefined })).not.toHaveProperty(
    'floorReaches',
  )
  expect(besideFloor({ ...rates, floor: [], peer: [50, 50], least: 1 })).toEqual({})
})

test('a bar that its own calls by hand miss is named, where the floor reaches it', () => {
  const workload = workloadOf('free lock, one at a time')
  const verdict = (ownCalls: number): Row | undefined =>
    rowsOf(workload, figuresOf(workload, { cohort: 600, 'own-calls': ownCalls })).find(
      (row) => row.workload === 'redis, free lock, one at a time',
    )
  expect(verdict(900)).toMatchObject({ reached: false, floorReaches: false })
  expect(verdict(900)?.floor).toContain(
    '; its own calls by hand 900 /s: Holdfast 0.67x [0.67, 0.67] of it, it 0.90x [0.90, 0.90] of the fastest',
  )
  expect(verdict(960)).toMatchObject({ reached: false, floorReaches: true })
})

test('a bar that the floor misses as well is named, and one that is reached is not', () => {
  const row = { workload: '', measured: '', against: '', bar: '≥ 1x', reached: false, rounds: {} }
  expect(verdictOf({ ...row, floorReaches: false })).toBe('MISSED, by the floor too')
  expect(verdictOf({ ...row, floorReaches: true })).toBe('MISSED')
  expect(verdictOf(row)).toBe('MISSED')
  expect(verdictOf({ ...row, reached: true, floorReaches: false })).toBe('reached')
})

test('a table has a column for floors only where a row has one', () => {
  const row = { workload: 'w', measured: 'm', against: 'a', bar: '', reached: true, rounds: {} }
  expect(tableOf([row]).head).toEqual(['workload', 'Holdfast', 'against', 'must be', ''])
  expect(tableOf([row, { ...row, floor: 'f' }])).toEqual({
    head: ['workload', 'Holdfast', 'against', 'floor', 'must be', ''],
    lines: [
      ['w', 'm', 'a', '', '', ''],
      ['w', 'm', 'a', 'f', '', ''],
    ],
  })
})

test('a peer of fewer rounds counts in the others with its median', () => {
  expect(bestOf([[1, 5, 1], [3]], 3)).toEqual([3, 5, 3])
})

test('a module that has run needs no warm-up', async () => {
  const subject = { name: 'a thousand holds', module: 'check', args: ['mutex', '1000'] }
  const rounds: string[] = []
  await runRounds([subject], 1, (text) => rounds.push(text))
  await runRounds([subject], 1, (text) => rounds.push(text))
  expect(rounds).toEqual([
    'warm-up: a thousand holds',
    'round 1 of 1: a thousand holds',
    'round 1 of 1: a thousand holds',
  ])
})

test('a row of Redis has the ratio to the fastest peer, the floor, and what a pair takes', () => {
  const rates = {
    cohort: 900,
    floor: 950,
    verrou: 1000,
    redlock: 500,
    run: 3000,
    'floor-run': 4000,
  }
  const workload = workloadOf('free lock, one at a time')
  const rows = rowsOf(workload, figuresOf(workload, { ...rates, 'redlock-universal': 1050 }))
  const byName = new Map(rows.map((row) => [row.workload, row]))
  const rate = byName.get('redis, free lock, one at a time')
  expect(rate?.against).toMatch(/^0\.86x \[0\.86, 0\.86\] of the fastest; redlock 500 \/s/)
  expect(rate?.floor).toContain('950 /s: Holdfast 0.95x [0.95, 0.95] of it')
  expect(rate?.floor).toContain('over a bare socket 1.0 k/s')
  expect(rate && verdictOf(rate)).toBe('MISSED, by the floor too')

  const work = byName.get('redis, free lock, one at a time: processor time')
  expect(work?.against).toBe('client 1.11x [1.11, 1.11], server 1.11x [1.11, 1.11] of verrou')
  expect(work?.reached).toBe(false)
  expect(byName.get('redis, free lock, one at a time: garbage')?.bar).toBe('≤ 5 kB')
  const run = byName.get('redis, free lock, one at a time, release not awaited')
  expect(run && verdictOf(run)).toBe('reached')
})

test('4 096 in flight must not be below 64', () => {
  const workload = workloadOf('free locks, 4096 in flight')
  const [fast] = rowsOf(workload, figuresOf(workload, { cohort: 3000, 'cohort at 64': 2900 }))
  const [slow] = rowsOf(workload, figuresOf(workload, { cohort: 3000, 'cohort at 64': 3100 }))
  expect([fast?.reached, slow?.reached]).toEqual([true, false])
  expect(slow?.measured).toBe('3.0 k/s, 0.97x of cohort at 64')
})

function recorded(): Results[] {
  const files = readdirSync(RESULTS).filter((name) => name.endsWith('.json'))
  return files.map((name) => JSON.parse(readFileSync(new URL(name, RESULTS), 'utf8')) as Results)
}

/** The recorded results, with made rows of Redis in the place of its own. */
function withRows(made: readonly Row[]): Results[] {
  const names = new Set(made.map(({ workload }) => workload))
  return recorded().map((one) =>
    one.suite === 'redis'
      ? { ...one, rows: [...made, ...one.rows.filter(({ workload }) => !names.has(workload))] }
      : one,
  )
}

test('the page reads all rows that the suite of Redis makes', () => {
  const made = WORKLOADS.flatMap((workload) =>
    rowsOf(workload, figuresOf(workload, { cohort: 2500, verrou: 2000, floor: 3000 })),
  )
  const page = readablePage(withRows(made))
  expect(page).toContain(
    '| 4 096 at a time | 2.5 k/s | 1.0 k/s | 1.0 k/s | 2.0 k/s | 1.0 k/s | 3.0 k/s |',
  )
  expect(page).toContain(
    '| 64 at a time at 2.4 ms | 2.5 k/s | – | – | 2.0 k/s | 1.0 k/s | 3.0 k/s |',
  )
  expect(page).toContain('Holdfast reaches 1.25x [1.25, 1.25] of the fastest of them')
  expect(page).toContain(
    '| Redis, one free lock after the other | **2.5 k/s** | 2.0 k/s | 1.0 k/s |',
  )
  expect(page).toContain('_The floor_ is the least')
})

test('the page marks the shortest wait of a row', () => {
  const workload = workloadOf('one hot lock, 4 processes x 16 waiters, 1 ms of work')
  const rows = rowsOf(workload, figuresOf(workload, { cohort: 500, 'verrou-queued': 2000 }))
  const page = readablePage(withRows(rows))
  expect(page).toContain('| p99 2000 ms | **p99 500 ms** | p99 1000 ms |')
})
