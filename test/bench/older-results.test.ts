/** Results that are older than what they measure: in repositories made for the test. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { measuredCommit } from '../../bench/dist/measured-commit.js'
import { MEASURED_SOURCES } from '../../bench/dist/measured-sources.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PROGRAM = join(ROOT, 'bench/dist/older-results.js')
const REDIS = 'packages/holdfast/src/stores/redis/store.ts'
const LEASE = 'packages/holdfast/src/lease/client.ts'

const folders: string[] = []
let root = ''

beforeEach(() => {
  root = newFolder()
  git('init', '-q')
  write(REDIS, '1')
  write(LEASE, '1')
})

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-results-'))
  folders.push(folder)
  return folder
}

function git(...args: string[]): string {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
  return execFileSync('git', [...who, ...args], { cwd: root, encoding: 'utf8' }).trim()
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

function commit(subject: string): string {
  git('add', '.')
  git('commit', '-q', '-m', subject)
  return git('rev-parse', 'HEAD')
}

/** Writes results as the benchmarks do, and commits them. */
function record(...suites: string[]): void {
  for (const suite of suites) {
    write(`bench/results/${suite}.json`, JSON.stringify({ suite, ...measuredCommit(root) }))
  }
  commit(`bench: record ${suites.join(', ')}`)
}

function olderResults(at = root): string[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, at], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout.trimEnd().split('\n')
}

test('a change of one store names the results of that store alone', () => {
  const measured = commit('start')
  record('redis', 'memory')
  expect(olderResults()).toEqual(['No result is older than what it measures.'])

  write(REDIS, '2')
  commit('redis: change the store')
  write(REDIS, '3')
  const last = commit('redis: change it again')
  expect(olderResults()).toEqual([
    `redis: measured at ${measured.slice(0, 8)}; 2 newer in its sources, ` +
      `the last ${last.slice(0, 7)} redis: change it again`,
  ])

  record('redis')
  expect(olderResults()).toEqual(['No result is older than what it measures.'])
})

test('a change of the runtime names the results of all stores', () => {
  commit('start')
  record('redis', 'memory', 'check')
  write(LEASE, '2')
  commit('leases: change the runtime')
  expect(olderResults().map((line) => line.split(':')[0])).toEqual(['memory', 'redis'])
})

test('a change between the measurement and the commit of its result counts', () => {
  commit('start')
  write('bench/results/redis.json', JSON.stringify({ suite: 'redis', ...measuredCommit(root) }))
  write(REDIS, '2')
  commit('redis: change the store, and record it as it was before')
  expect(olderResults()).toEqual([expect.stringContaining('redis: measured at ')])
})

test('without a known commit, the one that recorded the result counts', () => {
  commit('start')
  write('bench/results/redis.json', JSON.stringify({ suite: 'redis', commit: 'f'.repeat(40) }))
  write('bench/results/memory.json', JSON.stringify({ suite: 'memory' }))
  commit('bench: record two')
  expect(olderResults()).toEqual(['No result is older than what it measures.'])
  write(LEASE, '2')
  commit('leases: change the runtime')
  expect(olderResults()).toEqual([
    expect.stringMatching(/^memory: names no commit, recorded in \w{8}; 1 newer /),
    expect.stringMatching(/^redis: names an unknown commit, recorded in \w{8}; 1 newer /),
  ])
})

test('a measurement of changes that no commit has is named', () => {
  commit('start')
  write(REDIS, '2')
  record('redis')
  expect(olderResults()).toContain('redis: measured with changes that were not committed.')
})

test('without git history the program reports it and passes', () => {
  commit('start')
  record('redis')
  write(REDIS, '2')
  commit('redis: change the store')
  const shallow = join(newFolder(), 'clone')
  git('clone', '-q', '--depth', '1', `file://${root}`, shallow)
  const outside = newFolder()
  const unknown = ['No git history here: nothing shows how old the recorded results are.']
  expect(olderResults(shallow)).toEqual(unknown)
  expect(olderResults(outside)).toEqual(unknown)
})

test('each recorded result has sources, which exist', () => {
  const files = readdirSync(join(ROOT, 'bench/results')).filter((file) => file.endsWith('.json'))
  const names = files.map((file) => file.replace(/\.json$/, ''))
  expect(names.filter((name) => !(name in MEASURED_SOURCES))).toEqual([])
  const sources = [...new Set(Object.values(MEASURED_SOURCES).flat())]
  expect(sources.filter((folder) => !existsSync(join(ROOT, folder)))).toEqual([])
})
