/** The programs in examples/, several at a time, as their page describes. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '@holdfast/servers/redis'
import { afterEach, beforeEach, expect, test } from 'vitest'

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url))
const run = promisify(execFile)

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-examples-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program once for each list of arguments, all at a time. Returns their lines, sorted. */
async function together(
  program: string,
  argumentLists: readonly (readonly string[])[],
): Promise<string[]> {
  const outputs = await Promise.all(
    argumentLists.map((args) => run(process.execPath, [join(EXAMPLES, program), folder, ...args])),
  )
  return outputs.flatMap(({ stdout }) => stdout.split('\n').filter(Boolean)).toSorted()
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value)
}

test('payment-callback ships once', async () => {
  expect(await together('payment-callback.mjs', times(3, ['7']))).toEqual([
    'order 7 ships now',
    'order 7 was shipped before',
    'order 7 was shipped before',
  ])
})

test('nightly-job runs on one node', async () => {
  const lines = await together('nightly-job.mjs', times(4, ['4000']))
  expect(lines.filter((line) => line === 'the nightly job runs here')).toHaveLength(1)
})

test('cache-breakdown asks the database once', async () => {
  expect(await together('cache-breakdown.mjs', times(3, []))).toEqual([
    ...times(3, '1000 requests were answered'),
    'the database is asked',
  ])
})

test('shared-config loses no change', async () => {
  const names = ['a', 'b', 'c', 'd']
  await together(
    'shared-config.mjs',
    names.map((name) => [name, `${name}!`]),
  )
  const config: unknown = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'))
  expect(config).toEqual(Object.fromEntries(names.map((name) => [name, `${name}!`])))
})

test('stock sells what there is', async () => {
  expect(await together('stock.mjs', times(5, ['3']))).toEqual([
    ...times(3, 'sold a book'),
    ...times(2, 'sold out'),
  ])
})

test('striped-stock sells what there is, from all segments', async () => {
  const buyers = Array.from({ length: 7 }, (_, index) => [`buyer ${index}`, '4'])
  expect(await together('striped-stock.mjs', buyers)).toEqual([
    ...times(4, 'sold a book'),
    ...times(3, 'sold out'),
  ])
})

const TOUR = [
  'a long step is safe: true',
  'all four later: true',
  'at risk, safe, forgotten: slow slow lost',
  'each waits for the other: DEADLOCK done',
  'first replica: made',
  'found: true',
  'full: LOCK_QUEUE_FULL released served',
  'in a log: name,claimId,token,held,remainingMs,endsAt',
  'leader seen: true',
  'no third permit yet: 0 released',
  'passed on: true released',
  'released behind the run: released',
  'second replica: tour',
  'still taken: LOCK_TIMEOUT tour',
  'stop in time: LeaseAtRiskError true released',
  'the store answers: true',
]

async function tour(url: string): Promise<string[]> {
  const program = join(EXAMPLES, 'tour.mjs')
  const { stdout } = await run(process.execPath, ['--expose-gc', program, url])
  return stdout.split('\n').filter(Boolean).toSorted()
}

test('the tour is the same in a folder and on Redis', async () => {
  const redis = await startRedis()
  try {
    const urls = [`embedded:${join(folder, 'locks')}`, `redis://127.0.0.1:${redis.port}`]
    expect(await Promise.all(urls.map(tour))).toEqual([TOUR, TOUR])
  } finally {
    await redis.stop()
  }
})

test('the tour has at most 60 lines of code', () => {
  const lines = readFileSync(join(EXAMPLES, 'tour.mjs'), 'utf8').split('\n')
  const code = lines.filter((line) => !/^\s*(\/\/|$)/.test(line))
  expect(code.length).toBeLessThanOrEqual(60)
})

test('the page names every program', () => {
  const page = readFileSync(join(EXAMPLES, 'README.md'), 'utf8')
  const programs = readdirSync(EXAMPLES).filter((name) => name.endsWith('.mjs'))
  expect(programs.filter((name) => !page.includes(`](${name})`))).toEqual([])
})
