/**
 * One Redis server: Holdfast beside redlock, redis-semaphore, verrou and redlock-universal, on the
 * same server in the same run.
 */
import { startRedis } from '@holdfast/servers/redis'
import type { Comparable } from '../comparison.js'
import { startDelayingProxy } from '../delaying-proxy.js'
import { rowsOf, subjectsOf } from '../redis-rows.js'
import { COHORT_AT_64, COMPARED_ALONE, WORKLOADS, type Workload } from '../redis-workloads.js'
import type { Row } from '../report.js'
import { runRounds, runSubject, type BenchSubject } from '../rounds.js'
import type { BenchSuite, Progress } from '../suite.js'

const comparable: Comparable = {
  async start() {
    const server = await startRedis()
    const near = WORKLOADS.filter(({ roundTripMs }) => roundTripMs === undefined)
    const subjects = [...near, ...COMPARED_ALONE].flatMap(({ module, args, ours }) =>
      ours.map(({ name, subject }) => ({
        name,
        module,
        args: [subject, String(server.port), ...args],
      })),
    )
    return { subjects, stop: () => server.stop() }
  },
}

export const suite: BenchSuite = { measure: measureSuite, comparable }

async function measureSuite(rounds: number, progress: Progress): Promise<Row[]> {
  const server = await startRedis()
  try {
    const rows: Row[] = []
    for (const workload of WORKLOADS) {
      rows.push(
        ...(await withRoundTrip(workload, server.port, (port) =>
          measure(workload, port, rounds, progress),
        )),
      )
    }
    rows.push(...(await measureCommands(server.port, progress)))
    rows.push(await measureHeld(server.port, progress))
    return rows
  } finally {
    await server.stop()
  }
}

/** Puts the way of the workload before the server. */
async function withRoundTrip<T>(
  { roundTripMs }: Workload,
  port: number,
  use: (port: number) => Promise<T>,
): Promise<T> {
  if (roundTripMs === undefined) return use(port)
  const proxy = await startDelayingProxy(port, roundTripMs)
  try {
    return await use(proxy.port)
  } finally {
    await proxy.stop()
  }
}

async function measure(
  workload: Workload,
  port: number,
  rounds: number,
  progress: Progress,
): Promise<Row[]> {
  const { ours, peers, beside = [], module, args } = workload
  const own = ours.flatMap(subjectsOf)
  const subjectOf = (name: string): BenchSubject => ({ name, ...commandOf(name) })
  const commandOf = (name: string): Omit<BenchSubject, 'name'> =>
    name === COHORT_AT_64
      ? { module, args: ['cohort', String(port), '64'] }
      : { module, args: [name, String(port), ...args] }
  const subjects = [
    ...[...own, ...beside].map(subjectOf),
    ...peers.map(({ name, ...limits }) => ({ ...subjectOf(name), ...limits })),
  ]
  const results = await runRounds(subjects, rounds, (text) =>
    progress(`redis, ${ours[0]?.name}: ${text}`),
  )
  return rowsOf(workload, results)
}

/** The server counts, so that one run is enough. */
async function measureCommands(port: number, progress: Progress): Promise<Row[]> {
  progress('redis, commands per pair')
  const subject = { name: 'commands', module: 'redis-commands', args: [String(port)] }
  const figures = await runSubject(subject)
  const row = (name: string, kind: 'free' | 'hot', mostPublished: number): Row => {
    const [scripts = NaN, published = NaN] = [
      figures[`${kind}Scripts`],
      figures[`${kind}Published`],
    ]
    return {
      workload: `redis, commands per pair, ${name}`,
      measured: `${scripts.toFixed(2)} script calls, ${published.toFixed(2)} PUBLISH`,
      against: '',
      bar: `≤ 2 script calls, ${mostPublished === 0 ? 'no' : `≤ ${mostPublished}`} PUBLISH`,
      // In whole hundredths: a heartbeat now and then is no part of a pair.
      reached: Number(scripts.toFixed(2)) <= 2 && Number(published.toFixed(2)) <= mostPublished,
      rounds: { scripts: [scripts], published: [published] },
    }
  }
  return [
    row('a free lock', 'free', 0),
    row('one hot lock, 4 processes x 16 waiters, fifo', 'hot', 1),
  ]
}

async function measureHeld(port: number, progress: Progress): Promise<Row> {
  progress('redis, 10 000 held leases')
  const subject = { name: 'held', module: 'redis-held', args: [String(port)] }
  const { share = NaN, lost = NaN } = await runSubject(subject)
  return {
    workload: 'redis, 10 000 held leases, kept alive',
    measured: `${(share * 100).toFixed(1)}% of a core, ${lost} lost`,
    against: '',
    bar: '≤ 1%, none lost',
    reached: share <= 0.01 && lost === 0,
    rounds: { share: [share] },
  }
}
