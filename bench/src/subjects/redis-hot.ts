/** One hot lock: `redis-hot.js SUBJECT PORT WORK_MS` starts four processes of sixteen loops each. */
import { fork } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { percentile } from '../stats.js'
import { makeLocker } from './redis-lockers.js'

const PROCESSES = 4
const LOOPS = 16
const RUN_MS = 3000
/** Waits that each process tells of, spread over the run. */
const WAITS_TOLD = 20_000

interface Told {
  readonly pairs: readonly number[]
  readonly waitsMs: readonly number[]
}

const [subject = 'cohort', port = '6379', workMs = '0', role] = process.argv.slice(2)
if (role === undefined) await lead()
else await follow()

async function lead(): Promise<void> {
  const told = await Promise.all(Array.from({ length: PROCESSES }, startFollower))
  const waitsMs = told.flatMap((one) => one.waitsMs)
  const pairs = told.flatMap((one) => one.pairs)
  console.log(
    JSON.stringify({
      pairs: pairs.reduce((sum, one) => sum + one, 0) / (RUN_MS / 1000),
      p50Ms: percentile(waitsMs, 0.5),
      p99Ms: percentile(waitsMs, 0.99),
      maxMs: waitsMs.reduce((longest, one) => Math.max(longest, one), 0),
      /** How much less the least served waiter got than the most served one. */
      spread: 1 - Math.min(...pairs) / Math.max(...pairs),
    }),
  )
}

function startFollower(): Promise<Told> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [subject, port, workMs, 'follower'], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (message) => resolve(message as Told))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`a process of the hot lock ended with ${code}`))
    })
  })
}

async function follow(): Promise<void> {
  const acquire = makeLocker(subject, Number(port))('hot')
  // A first pair connects, so that all of them begin at about the same time.
  await (
    await acquire()
  )()
  const endMs = performance.now() + RUN_MS
  const waitsMs: number[] = []
  const pairs = await Promise.all(
    Array.from({ length: LOOPS }, async () => {
      let count = 0
      while (performance.now() < endMs) {
        const askedMs = performance.now()
        const release = await acquire()
        const gotMs = performance.now()
        // All of the long ones, and some of the rest: the maximum has to be true.
        if (waitsMs.length < WAITS_TOLD || gotMs - askedMs > 50) waitsMs.push(gotMs - askedMs)
        // What comes after the end would count only for those who had to wait for long.
        if (gotMs < endMs) count += 1
        if (workMs !== '0') await pause(Number(workMs))
        await release()
      }
      return count
    }),
  )
  process.send?.({ pairs, waitsMs } satisfies Told, () => process.exit(0))
}
