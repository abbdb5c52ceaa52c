/**
 * One hot lock: four processes of sixteen loops each, all of which want the same lock all the time.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Locker } from './locker.js'
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
/** Waits that each process tells of, spread over the run. */
const WAITS_TOLD = 20_000

interface Told {
  readonly pairs: readonly number[]
  readonly waitsMs: readonly number[]
}

const FOLLOWER = 'follower'
const READY = 'ready'
const GO = 'go'

/**
 * Called by the leading process, which prints the figures, and by those that it starts with the
 * same arguments. Both end.
 * @param workMs how long each holder works under the lock
 */
export async function runHot(
  makeLocker: () => Locker,
  workMs: number,
  runMs = RUN_MS,
): Promise<void> {
  if (process.argv.at(-1) === FOLLOWER) await follow(makeLocker()('hot'), workMs, runMs)
  else await lead(runMs)
}

async function lead(runMs: number): Promise<void> {
  const waiting: ChildProcess[] = []
  const ready = (child: ChildProcess): void => {
    waiting.push(child)
    // All begin together. Where one process keeps the others out for long they would begin one
    // after the other, and the sum would be of several runs.
    if (waiting.length === PROCESSES) for (const one of waiting) one.send(GO)
  }
  const told = await Promise.all(Array.from({ length: PROCESSES }, () => startFollower(ready)))
  const waitsMs = told.flatMap((one) => one.waitsMs)
  const pairs = told.flatMap((one) => one.pairs)
  console.log(
    JSON.stringify({
      pairs: pairs.reduce((sum, one) => sum + one, 0) / (runMs / 1000),
      p50Ms: percentile(waitsMs, 0.5),
      p99Ms: percentile(waitsMs, 0.99),
      maxMs: waitsMs.reduce((longest, one) => Math.max(longest, one), 0),
      /** How much less the least served waiter got than the most served one. */
      spread: 1 - Math.min(...pairs) / Math.max(...pairs),
    }),
  )
}

/** Called when a process has had its first pair. */
type OnReady = (child: ChildProcess) => void

function startFollower(ready: OnReady): Promise<Told> {
  return new Promise((resolve, reject) => {
    const [, module = '', ...args] = process.argv
    const child = fork(module, [...args, FOLLOWER], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (message) => {
      if (message === READY) ready(child)
      else resolve(message as Told)
    })
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`a process of the hot lock ended with ${code}`))
    })
  })
}

async function follow(acquire: ReturnType<Locker>, workMs: number, runMs: number): Promise<void> {
  // A first pair connects.
  await (
    await acquire()
  )()
  process.send?.(READY)
  await once(process, 'message')
  const startMs = performance.now() + WARM_UP_MS
  const endMs = startMs + runMs
  const waitsMs: number[] = []
  const pairs = await Promise.all(
    Array.from({ length: LOOPS }, async () => {
      let count = 0
      while (performance.now() < endMs) {
        const askedMs = performance.now()
        const release = await acquire()
        const gotMs = performance.now()
        // All of the long ones, and some of the rest: the maximum has to be true.
        if (gotMs >= startMs && (waitsMs.length < WAITS_TOLD || gotMs - askedMs > 50))
          waitsMs.push(gotMs - askedMs)
        // What comes after the end would count only for those who had to wait for long.
        if (gotMs >= startMs && gotMs < endMs) count += 1
        if (workMs > 0) await work(workMs)
        await release()
      }
      return count
    }),
  )
  process.send?.({ pairs, waitsMs } satisfies Told, () => process.exit(0))
}
