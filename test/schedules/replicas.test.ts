/**
 * Replicas whose clocks differ by more than a period: each slot of each library runs once. Stopped,
 * they end by themselves.
 *
 * All libraries and periods share the replicas. So the exhaustive plan takes five minutes, for 60
 * ticks of 5 s and 300 of 1 s.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type RedisServer, startRedis } from '@holdfast/servers/redis'
import { ServerClock } from '@holdfast/stores/faults/clock'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFull } from '../support/plan.js'

const LIBRARIES = [
  ...['croner', 'cron', 'node-schedule', 'node-cron', 'coordinator'],
  ...['nestjs', 'nestjs 12', '@OncePerTick'],
]
/** Nothing calls a program for a slot that a decorated method leaves out. */
const SILENT = '@OncePerTick'
const { clocksMs, periods, forMs } = isFull()
  ? { clocksMs: [0, 1_000, 2_000], periods: [1, 5], forMs: 300_000 }
  : { clocksMs: [0, 2_000], periods: [1], forMs: 5_000 }
const AT_LEAST_MS = 20_000
/** Longer than the clocks differ, and the last runs take. */
const REST_MS = 4_000

interface Line {
  readonly name: string
  readonly slot: number
  /** Why it did not run. */
  readonly reason?: string
}

/** For a stop: jobs that just run, on a busy machine. */
const END_MS = 60_000

interface Left {
  readonly subscribed: boolean
}

/** What a stop that takes long waits for. */
interface Pending {
  readonly step: string
  readonly resources: readonly string[]
}

let redis: RedisServer
const clocks: ServerClock[] = []
const replicas: ChildProcess[] = []
/** What replicas print after their stop. */
const left: Left[] = []
const pending = new Map<ChildProcess, Pending>()

beforeAll(async () => {
  redis = await startRedis()
})

afterAll(async () => {
  for (const replica of replicas) replica.kill('SIGKILL')
  for (const clock of clocks) clock.remove()
  await redis.stop()
})

/** Starts a replica whose clock is ahead. Resolves when its jobs are scheduled. */
function startReplica(aheadMs: number, lines: Line[]): Promise<void> {
  const clock = new ServerClock()
  clocks.push(clock)
  clock.step(aheadMs)
  const terms = JSON.stringify({ port: redis.port, periods, atLeastMs: AT_LEAST_MS })
  const replica = spawn(process.execPath, [join(import.meta.dirname, 'replica.mjs'), terms], {
    env: { ...process.env, ...clock.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  replicas.push(replica)
  return new Promise((resolve, reject) => {
    replica.on('exit', (code, signal) => reject(new Error(`A replica ended: ${code ?? signal}.`)))
    createInterface({ input: replica.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Line | { readonly ready: number } | Left | Pending
      if ('ready' in line) resolve()
      else if ('subscribed' in line) left.push(line)
      else if ('step' in line) pending.set(replica, line)
      else lines.push(line)
    })
  })
}

test('each slot runs on one replica, at each period', { timeout: forMs + 120_000 }, async () => {
  const lines: Line[] = []
  await Promise.all(clocksMs.map((aheadMs) => startReplica(aheadMs, lines)))
  // Until then the slow replicas run what was due before the fast ones had started.
  const settledMs = Date.now() + 2 * Math.max(...clocksMs) + 500
  const longestMs = Math.max(...periods) * 1_000
  const firstMs = Math.ceil(settledMs / longestMs) * longestMs
  const untilMs = firstMs + forMs + REST_MS
  await new Promise((resolve) => void setTimeout(resolve, untilMs - Date.now()))
  for (const library of LIBRARIES)
    for (const seconds of periods) {
      const own = lines.filter(({ name }) => name === `${library} ${seconds}`)
      const ran = own.filter(({ reason }) => reason === undefined).map(({ slot }) => slot)
      const slots = Array.from(
        { length: forMs / (seconds * 1_000) },
        (_, at) => firstMs + at * seconds * 1_000,
      )
      const inTime = ran.filter((slot) => slot >= firstMs && slot < firstMs + forMs)
      const missed = slots.filter((slot) => !inTime.includes(slot))
      const said = own.filter(({ slot }) => missed.includes(slot))
      expect(inTime.toSorted(), `${library}, each ${seconds} s: ${JSON.stringify(said)}`).toEqual(
        slots,
      )
      // No slot ran twice, before and after these either.
      expect(new Set(ran).size, library).toBe(ran.length)
      // The other replicas had the same slots.
      const left = own.filter(({ reason }) => reason !== undefined).map(({ slot }) => slot)
      const shared = slots.filter((slot) => left.includes(slot))
      if (library !== SILENT) expect(shared.length, library).toBeGreaterThan(0)
      console.log(
        `${library}, each ${seconds} s: ${slots.length} slots, ${inTime.length} runs, ${left.length} left to others`,
      )
    }
})

test(
  'after the stop of its jobs and locks a replica ends, and listens to nothing',
  async () => {
    const states = (): unknown[] =>
      replicas.map((replica) => replica.exitCode ?? pending.get(replica) ?? 'stopping')
    for (const replica of replicas) replica.kill('SIGTERM')
    // A failure shows the steps that did not end.
    await expect.poll(states, { timeout: END_MS, interval: 50 }).toEqual(replicas.map(() => 0))
    expect(left).toEqual(replicas.map(() => ({ subscribed: false })))
  },
  END_MS + 5_000,
)
