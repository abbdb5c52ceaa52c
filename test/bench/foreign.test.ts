/** The benchmark beside clients of other languages: what it leaves out, and its part of a page. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { foreignSection } from '../../bench/dist/foreign/page.js'
import { PEERS, rowName, workloadsOf } from '../../bench/dist/foreign/peers.js'
import type { Results, Row } from '../../bench/dist/report.js'
import { runPeer } from '../../bench/dist/foreign/run-peer.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

test('without Go, Java and Python the run prints what it leaves out, and records nothing', () => {
  const empty = mkdtempSync(join(tmpdir(), 'holdfast-path-'))
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, 'bench/dist/main.js'), '--foreign'],
    { encoding: 'utf8', env: { ...process.env, PATH: empty } },
  )
  rmSync(empty, { recursive: true })
  expect(status).toBe(0)
  expect(stdout.trimEnd().split('\n')).toEqual([
    'Go needs go, which the path lacks. Left out: redsync, redislock, rueidislock, concurrency.',
    'Python needs python3, which the path lacks. Left out: redis-py, kazoo.',
    'Java needs java, javac, mvn, which the path lacks. Left out: Redisson, jetcd, Curator.',
    'Not recorded, since peers are left out.',
  ])
})

test('Holdfast speaks what the programs of the other languages speak', async () => {
  const workload = { title: '', processes: 1, loops: 4, kind: 'hot' } as const
  expect(await runPeer('memory', 'javascript', '', workload)).toBeGreaterThan(0)
})

test('a program that ends early is an error', async () => {
  const workload = { title: '', processes: 2, loops: 1, kind: 'free' } as const
  await expect(runPeer('no-store', 'javascript', '', workload)).rejects.toThrow(
    'no-store did not start.',
  )
})

/** Rows in which redsync is faster than Holdfast, except with 64 in flight. */
function rowsOf(floor: Readonly<Record<string, readonly number[]>>): Row[] {
  return PEERS.flatMap((peer) =>
    workloadsOf(peer).map((workload) => ({
      workload: rowName(peer, workload),
      measured: '',
      against: '',
      bar: '',
      reached: true,
      rounds: {
        holdfast: [10, 20, 30],
        ...floor,
        [peer.name]: peer.name === 'redsync' && workload !== 'many' ? [20, 40, 60] : [5, 10, 15],
      },
    })),
  )
}

function recordedWith(rows: readonly Row[]): Results {
  const machine = { node: 'v20', platform: 'linux', cores: 2, load: 3 }
  return { suite: 'foreign', recorded: '2026-01-01', machine, rows }
}

test('the page has a ratio for each peer, and names the peers that are faster', () => {
  const page = foreignSection([recordedWith(rowsOf({}))])
  expect(page).toContain('| kazoo (Python) | zookeeper | 2.00x [2.00, 2.00] |')
  expect(page).toContain(
    'Holdfast is slower than redsync (Go), one at a time and 64 in flight at 2.4 ms and hot.',
  )
  expect(page).not.toContain('| _the floor_ |')
  expect(foreignSection([])).toBe('')
})

test('the page has the floor of each store', () => {
  const page = foreignSection([recordedWith(rowsOf({ floor: [20, 50, 60] }))])
  const ratio = '0.50x [0.40, 0.50]'
  expect(page).toContain(`| _the floor_ | redis | ${ratio} | ${ratio} | ${ratio} |`)
  expect(page).toContain(`| _the floor_ | etcd | ${ratio} | ${ratio} | – |`)
})

test('a round in which a peer failed counts for no ratio', () => {
  const rows = rowsOf({}).map((row) =>
    row.workload.endsWith('one at a time, beside kazoo')
      ? { ...row, rounds: { holdfast: [10, 20, 30], kazoo: [5, NaN, 10] } }
      : row,
  )
  const read = JSON.parse(JSON.stringify(recordedWith(rows))) as Results
  expect(foreignSection([read])).toContain('| kazoo (Python) | zookeeper | 3.00x [2.00, 3.00] |')
})
