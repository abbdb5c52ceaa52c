/**
 * One hot lock: four processes of sixteen loops each, all of which want the same lock all the time.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Locker } from './locker.js'
import { type CpuMeter, noMeter } from './server-cpu.js'
import { percentile } from './stats.js'
import { work } from './work.js'

const PROCESSES = 4
const LOOPS = 16
const RUN_MS = 3000
/**
 * A process that begins runs its code at a tenth of the speed; those that take locks for a living
 * have begun long ago.
 */
const WARM_UP_MS = 4000
/** Waits that each process reports, spread over the run. */
const WAITS_REPORTED = 20_000

export interface HotOptions {
  /** How long each holder works under the lock. */
  readonly workMs?: number
  /** Loops of each process. */
  readonly loops?: number
  readonly runMs?: number
  readonly warmUpMs?: number
  /** Reads the CPU time of the server at the start and at the end of the run. */
  readonly meter?: CpuMeter
}

/** What a process reports when its run has ended. */
interface Report {
  readonly pairs: readonly number[]
  readonly waitsMs: readonly number[]
  /** CPU time of the whole run, the warm-up included. */
  readonly cpuUs: number
  /** Pairs of the whole run. */
  readonly allPairs: number
}

const FOLLOWER = 'follower'
const READY = 'ready'
const GO = 'go'

/** Returns the arguments of the subject, the same ones in all of its processes. */
export function hotArguments(): string[] {
  return process.argv.slice(2).filter((argument) => argument !== FOLLOWER)
}

/**
 * Called by the leading process, which prints the figures, and by the processes that it starts with
 * the same arguments. All of them end.
 */
export async function runHot(makeLocker: () => Locker, options: HotOptions = {}): Promise<void> {
  if (process.argv.at(-1) === FOLLOWER) await follow(makeLocker()('hot'), options)
  else await lead(options)
}

async function lead({
  runMs = RUN_MS,
  warmUpMs = WARM_UP_MS,
  meter = noMeter,
}: HotOptions): Promise<void> {
  const waiting: ChildProcess[] = []
  let cpuUs = Promise.resolve(NaN)
  const ready = (child: ChildProcess): void => {
    waiting.push(child)
    if (waiting.length < PROCESSES) return
    // All begin together. Where one process keeps the others out for long they would begin one
    // after the other, and the sum would be of several runs.
    for (const one of waiting) one.send(GO)
    cpuUs = cpuDuring(meter, warmUpMs, runMs)
  }
  const reports = await Promise.all(Array.from({ length: PROCESSES }, () => startFollower(ready)))
  const waitsMs = reports.flatMap((one) => one.waitsMs)
  const pairs = reports.flatMap((one) => one.pairs)
  const total = sumOf(pairs)
  const usedUs = await cpuUs
  console.log(
    JSON.stringify({
      pairs: total / (runMs / 1000),
      p50Ms: percentile(waitsMs, 0.5),
      p99Ms: percentile(waitsMs, 0.99),
      maxMs: waitsMs.reduce((longest, one) => Math.max(longest, one), 0),
      /** How much less the least served waiter got than the most served one. */
      spread: 1 - Math.min(...pairs) / Math.max(...pairs),
      clientUs:
        sumOf(reports.map(({ cpuUs: ownUs }) => ownUs)) /
        sumOf(reports.map(({ allPairs }) => allPairs)),
      ...(Number.isNaN(usedUs) ? {} : { serverUs: usedUs / total }),
    }),
  )
  process.exit(0)
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0)
}

/** Resolves to the CPU time that the server uses while the processes run, after their warm-up. */
async function cpuDuring(meter: CpuMeter, warmUpMs: number, runMs: number): Promise<number> {
  await pause(warmUpMs)
  const before = await meter()
  await pause(runMs)
  return (await meter()) - before
}

/** Called when a process has had its first pair. */
type OnReady = (child: ChildProcess) => void

function startFollower(ready: OnReady): Promise<Report> {
  return new Promise((resolve, reject) => {
    const [, module = '', ...args] = process.argv
    const child = fork(module, [...args, FOLLOWER], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (message) => {
      if (message === READY) ready(child)
      else resolve(message as Report)
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`a process of the hot lock ended with ${code}`))
    })
  })
}

async function follow(
  acquire: ReturnType<Locker>,
  { workMs = 0, loops = LOOPS, runMs = RUN_MS, warmUpMs = WARM_UP_MS }: HotOptions,
): Promise<void> {
  // A first pair connects.
  await (
    await acquire()
  )()
  process.send?.(READY)
  await once(process, 'message')
  const startMs = performance.now() + warmUpMs
  const endMs = startMs + runMs
  const waitsMs: number[] = []
  const cpuBefore = process.cpuUsage()
  let allPairs = 0
  const pairs = await Promise.all(
    Array.from({ length: loops }, async () => {
      let count = 0
      while (performance.now() < endMs) {
        const askedMs = performance.now()
        const release = await acquire()
        const gotMs = performance.now()
        // All of the long ones, and some of the rest: the maximum has to be true.
        if (gotMs >= startMs && (waitsMs.length < WAITS_REPORTED || gotMs - askedMs > 50))
          waitsMs.push(gotMs - askedMs)
        // A pair after the end would count only for those that had to wait for long.
        if (gotMs >= startMs && gotMs < endMs) count += 1
        allPairs += 1
        if (workMs > 0) await work(workMs)
        await release()
      }
      return count
    }),
  )
  const { user, system } = process.cpuUsage(cpuBefore)
  const cpuUs = user + system
  process.send?.({ pairs, waitsMs, cpuUs, allPairs } satisfies Report, () => process.exit(0))
}
