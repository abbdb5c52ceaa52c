/**
 * Three Redis servers: Holdfast's Redlock beside those of redlock, redis-semaphore and
 * redlock-universal, on the same servers in the same run. The peers give no fencing token.
 */
import { startRedis } from '@holdfast/servers/redis'
import type { Comparable } from '../comparison.js'
import { garbageRows, rate, type Row } from '../report.js'
import { runRounds, type Figures } from '../rounds.js'
import { median } from '../stats.js'
import type { BenchSuite } from '../suite.js'

const SERVERS = 3
const PEERS = ['redlock', 'redis-semaphore', 'redlock-universal'] as const
const WORKLOADS = [
  { name: 'free lock, one at a time', loops: 1 },
  { name: 'free locks, 64 in flight', loops: 64 },
] as const

const comparable: Comparable = {
  async start() {
    const servers = await startServers()
    const subjects = WORKLOADS.map(({ name, loops }) => ({
      name,
      module: 'redlock-free',
      args: ['holdfast', servers.ports, String(loops)],
    }))
    return { subjects, stop: () => servers.stop() }
  },
}

export const suite: BenchSuite = { measure, comparable }

async function measure(rounds: number, progress: (text: string) => void): Promise<Row[]> {
  const servers = await startServers()
  try {
    const rows: Row[] = []
    for (const { name, loops } of WORKLOADS) {
      const subjects = ['holdfast', ...PEERS].map((subject) => ({
        name: subject,
        module: 'redlock-free',
        args: [subject, servers.ports, String(loops)],
      }))
      const results = await runRounds(subjects, rounds, (text) =>
        progress(`redlock, ${name}: ${text}`),
      )
      rows.push(...rowsOf(`redlock on ${SERVERS} servers, ${name}`, results))
    }
    return rows
  } finally {
    await servers.stop()
  }
}

function rowsOf(workload: string, results: ReadonlyMap<string, readonly Figures[]>): Row[] {
  const pairs = (subject: string): number[] =>
    results.get(subject)?.map((figures) => figures['pairs'] ?? NaN) ?? []
  const ours = pairs('holdfast')
  const against = PEERS.map((peer) => {
    const theirs = pairs(peer)
    const ratio = median(ours.map((value, round) => value / (theirs[round] ?? NaN)))
    return `${ratio.toFixed(2)}x ${peer} (${rate(median(theirs))})`
  })
  const row: Row = {
    workload,
    measured: rate(median(ours)),
    against: against.join('; '),
    bar: '',
    reached: true,
    rounds: Object.fromEntries(['holdfast', ...PEERS].map((name) => [name, pairs(name)])),
  }
  return [row, ...garbageRows(workload, results.get('holdfast') ?? [])]
}

async function startServers(): Promise<{ ports: string; stop(): Promise<void> }> {
  const servers = await Promise.all(Array.from({ length: SERVERS }, () => startRedis()))
  return {
    ports: servers.map(({ port }) => port).join(','),
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  }
}
