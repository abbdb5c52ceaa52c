/**
 * What looking costs: `holdfast console` over a Redis with 10 000 locks among a million other keys,
 * and five viewers. Also how soon it shows something, and what it answers while the server hangs.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { Redis } from 'ioredis5'
import { createLocks, type Locks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { startConsole, type ConsoleProcess } from '../console/console-process.js'
import { scrollTimes } from '../console/scroll.js'
import { Viewers } from '../console/viewers.js'
import { processorMs } from '../processor-time.js'
import { ms, type Row } from '../report.js'
import { median, percentile } from '../stats.js'
import type { BenchSuite, Progress } from '../suite.js'

const LOCKS = 10_000
const OTHER_KEYS = 1_000_000
const WAITERS = 50
const VIEWERS = 5
const HOUR_MS = 3_600_000
const COUNTED_MS = 30_000
const TURN_MS = 4000
const HANG_MS = 8000
const WINDOWS = 10
/** How late a timer of a process that does nothing is at most, while the machine runs. */
const CALM_MS = 6

export const suite: BenchSuite = { measure }

async function measure(rounds: number, progress: Progress): Promise<Row[]> {
  const server = await startRedis()
  const client = new Redis(server.port)
  const locks = createLocks(redisStore({ client }), { ttlMs: HOUR_MS, renew: false })
  const waiting = createLocks(redisStore({ client }), { waitMs: HOUR_MS })
  let command: ConsoleProcess | undefined
  let viewers: Viewers | undefined
  try {
    progress('console: filling the server')
    await fill(client, locks, waiting)
    progress('console: first rows')
    command = await startConsole(server.url)
    viewers = await Viewers.start(command.address, VIEWERS)
    const start = startRow(command)
    await command.hasSeenAll()
    progress(`console: ${VIEWERS} viewers for ${COUNTED_MS / 1000} s`)
    const shares = await shareRows(server, command, viewers)
    const beside = await besideRow(locks, viewers, rounds, progress)
    progress('console: a page that scrolls')
    const scroll = scrollRow(await scrollTimes(command.address))
    progress('console: a server that hangs')
    const hang = await hangRow(server, viewers)
    return [start, ...shares, beside, scroll, hang]
  } finally {
    viewers?.stop()
    await command?.stop()
    await Promise.all([waiting, locks].map((one) => one.close({ graceMs: 0 })))
    client.disconnect()
    await server.stop()
  }
}

async function fill(client: Redis, locks: Locks, waiting: Locks): Promise<void> {
  const step = 10_000
  const script = `for n = ARGV[1], ARGV[1] + ${step} - 1 do redis.call('SET', 'other:' .. n, n) end`
  for (let from = 0; from < OTHER_KEYS; from += step) await client.eval(script, 0, from)
  for (let from = 0; from < LOCKS; from += 1000) {
    const names = Array.from({ length: 1000 }, (_, index) => `held:${from + index}`)
    await Promise.all(names.map((name) => locks.mutex(name).acquire()))
  }
  for (let index = 0; index < WAITERS; index += 1)
    waiting
      .mutex(`held:${index}`)
      .acquire()
      .catch(() => undefined)
}

function startRow({ firstRowsMs }: ConsoleProcess): Row {
  return {
    workload: 'first rows after the command, cold',
    measured: ms(firstRowsMs),
    against: '',
    bar: '≤ 1 s',
    reached: firstRowsMs <= 1000,
    rounds: { firstRowsMs: [firstRowsMs] },
  }
}

/** The server's share without viewers is what its waiters and idle connections cost. */
async function shareRows(
  server: RedisServer,
  command: ConsoleProcess,
  viewers: Viewers,
): Promise<Row[]> {
  const used = async (): Promise<{ server: number; console: number }> => {
    const pids = [server.pid, command.pid] as const
    const before = pids.map(processorMs)
    const startMs = performance.now()
    await sleep(COUNTED_MS)
    const tookMs = performance.now() - startMs
    const [ofServer = NaN, ofConsole = NaN] = pids.map(
      (pid, at) => (processorMs(pid) - (before[at] ?? NaN)) / tookMs,
    )
    return { server: ofServer, console: ofConsole }
  }
  const looking = await used()
  const steps = await stepRow(command)
  await viewers.pause()
  const alone = await used()
  await viewers.resume()
  const shares = [
    ['server', looking.server - alone.server],
    ['console', looking.console],
  ] as const
  return [
    ...shares.map(([name, share]) => ({
      workload: `${LOCKS} locks, a million other keys, ${VIEWERS} viewers: the ${name}`,
      measured: `${(share * 100).toFixed(1)}% of a core`,
      against: '',
      bar: '≤ 3%',
      reached: share <= 0.03,
      rounds: { share: [share] },
    })),
    steps,
  ]
}

/**
 * A process that does nothing is late, too, when the machine stands still. Windows in which it was
 * are left out.
 */
async function stepRow(command: ConsoleProcess): Promise<Row> {
  const [all, calm]: [number[], number[]] = [[], []]
  for (let window = 0; window < WINDOWS; window += 1) {
    const idle = monitorEventLoopDelay({ resolution: 1 })
    idle.enable()
    const stepMs = await command.longestStepMs(COUNTED_MS / WINDOWS)
    idle.disable()
    all.push(stepMs)
    if (idle.max / 1e6 <= CALM_MS) calm.push(stepMs)
  }
  const longest = Math.max(...(calm.length > 0 ? calm : all))
  return {
    workload: 'the longest step of its event loop meanwhile',
    measured: `${ms(longest)}, median of ${calm.length} windows ${ms(median(calm))}`,
    against: `${WINDOWS - calm.length} windows left out, in which the machine stood still`,
    bar: '≤ 20 ms',
    reached: longest <= 20,
    rounds: { all, calm },
  }
}

/** A pair of acquire and release, with and without viewers in turn. */
async function besideRow(
  locks: Locks,
  viewers: Viewers,
  rounds: number,
  progress: Progress,
): Promise<Row> {
  const [beside, alone]: [number[], number[]] = [[], []]
  for (let round = 1; round <= rounds; round += 1) {
    progress(`console: a lock beside it, round ${round} of ${rounds}`)
    await viewers.resume()
    beside.push(await p99OfPairs(locks))
    await viewers.pause()
    alone.push(await p99OfPairs(locks))
  }
  await viewers.resume()
  const ratio = median(beside.map((value, at) => value / (alone[at] ?? NaN)))
  return {
    workload: 'p99 of a free lock beside the viewers',
    measured: ms(median(beside)),
    against: `${ratio.toFixed(2)}x of without viewers, ${ms(median(alone))}`,
    bar: '≤ 1.2x',
    reached: ratio <= 1.2,
    rounds: { beside, alone },
  }
}

async function p99OfPairs(locks: Locks): Promise<number> {
  const times: number[] = []
  const endMs = performance.now() + TURN_MS
  for (let nowMs = performance.now(); nowMs < endMs;) {
    const lease = await locks.mutex('free').acquire()
    await lease.release()
    const thenMs = performance.now()
    times.push(thenMs - nowMs)
    nowMs = thenMs
  }
  return percentile(times, 0.99)
}

function scrollRow(times: readonly number[]): Row {
  const longest = Math.max(...times)
  return {
    workload: `rows after a far scroll in the page, the slowest of ${times.length}`,
    measured: `${ms(longest)}, median ${ms(median(times))}`,
    against: '',
    bar: '≤ 150 ms',
    reached: longest <= 150,
    rounds: { scrollMs: times },
  }
}

async function hangRow(server: RedisServer, viewers: Viewers): Promise<Row> {
  await viewers.times()
  server.pause()
  await sleep(HANG_MS)
  server.resume()
  const times = await viewers.times()
  const longest = Math.max(...times)
  return {
    workload: `answers of the console while the server hangs for ${HANG_MS / 1000} s, the slowest`,
    measured: ms(longest),
    against: '',
    bar: '≤ 100 ms',
    reached: longest <= 100,
    rounds: { answerMs: times },
  }
}
