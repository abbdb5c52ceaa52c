/**
 * Three Redis servers: Holdfast's Redlock beside those of redlock, redis-semaphore and
 * redlock-universal, on the same servers in the same run. The peers give no fencing token.
 */
import { startRedis } from '@holdfast/servers/redis'
import type { Comparable } from '../comparison.js'
import { besideFloor, FLOOR } from '../floor.js'
import { inWords, medianRate, pair, ratesOf } from '../paired.js'
import { garbageRows, type Row } from '../report.js'
import { runRounds, type Figures } from '../rounds.js'
import type { BenchSuite } from '../suite.js'

const SERVERS = 3
const PEERS = ['redlock', 'redis-semaphore', 'redlock-universal'] as const
/** What must be reached beside the first peer. It gives no token. */
const WORKLOADS = [
  { name: 'free lock, one at a time', loops: 1, least: 0.6 },
  { name: 'free locks, 64 in flight', loops: 64, least: 1 },
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
    for (const { name, loops, least } of WORKLOADS) {
      const subjects = ['holdfast', FLOOR, ...PEERS].map((subject) => ({
        name: subject,
        module: 'redlock-free',
        args: [subject, servers.ports, String(loops)],
      }))
      const results = await runRounds(subjects, rounds, (text) =>
        progress(`redlock, ${name}: ${text}`),
      )
      rows.push(...rowsOf(`redlock on ${SERVERS} servers, ${name}`, least, results))
    }
    return rows
  } finally {
    await servers.stop()
  }
}

function rowsOf(
  workload: string,
  least: number,
  results: ReadonlyMap<string, readonly Figures[]>,
): Row[] {
  const pairs = (subject: string): number[] => ratesOf(results.get(subject))
  const ours = pairs('holdfast')
  const [peerName] = PEERS
  const peer = pairs(peerName)
  const against = PEERS.map(
    (name) => `${inWords(pair(ours, pairs(name)))} ${name} (${medianRate(pairs(name))})`,
  )
  const row: Row = {
    workload,
    measured: medianRate(ours),
    against: against.join('; '),
    ...besideFloor({ ours, floor: pairs(FLOOR), peer, peerName, least }),
    bar: `≥ ${least}x ${peerName}`,
    reached: pair(ours, peer).ratio >= least,
    rounds: Object.fromEntries(['holdfast', FLOOR, ...PEERS].map((name) => [name, pairs(name)])),
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
