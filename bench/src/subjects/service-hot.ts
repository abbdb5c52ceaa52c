/**
 * One hot lock on a service: `service-hot.js STORE ADDRESS fifo|cohort PROCESSES` starts
 * processes of sixteen loops.
 *
 * A hand-off is the time from the call of release to the grant of the next token, in any process.
 * All processes read the machine's one monotonic clock.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Fairness } from 'holdfast'
import { openLocks } from '../service-locks.js'
import { percentile } from '../stats.js'

const LOOPS = 16
const RUN_MS = 3000
/** Waits and holds that each process reports. */
const REPORTED = 20_000

/**
 * Times of the monotonic clock in milliseconds, with the token as a text that sorts like the
 * number.
 */
type Hold = readonly [token: string, grantedMs: number, releasedMs: number]

/** What a process reports when its run has ended. */
interface Report {
  readonly pairs: readonly number[]
  readonly waitsMs: readonly number[]
  readonly holds: readonly Hold[]
}

const [store = '', address = '', fairness = 'fifo', processes = '4', role] = process.argv.slice(2)
if (role === undefined) await lead()
else await follow()

async function lead(): Promise<void> {
  const followers = await Promise.all(Array.from({ length: Number(processes) }, startFollower))
  // Together, so that all have the same time and the same company.
  const reports = await Promise.all(followers.map(({ go }) => go()))
  const waitsMs = reports.flatMap((one) => one.waitsMs)
  const pairs = reports.flatMap((one) => one.pairs)
  const handOffsMs = handOffs(reports.flatMap((one) => one.holds))
  console.log(
    JSON.stringify({
      pairs: pairs.reduce((sum, one) => sum + one, 0) / (RUN_MS / 1000),
      p50Ms: percentile(waitsMs, 0.5),
      p99Ms: percentile(waitsMs, 0.99),
      ...(fairness === 'fifo' ? { handOffP50Ms: percentile(handOffsMs, 0.5) } : {}),
      /**
       * How much less the least served waiter got than the most served one, except the turn that
       * begins or ends the run.
       */
      spread: Math.max(0, 1 - (Math.min(...pairs) + 1) / Math.max(...pairs)),
    }),
  )
}

function handOffs(holds: readonly Hold[]): number[] {
  const inOrder = holds.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return inOrder.slice(1).map(([, grantedMs], index) => grantedMs - (inOrder[index]?.[2] ?? NaN))
}

interface Follower {
  /** Lets it begin, and resolves to what it saw. */
  readonly go: () => Promise<Report>
}

function startFollower(): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const child = fork(
      fileURLToPath(import.meta.url),
      [store, address, fairness, processes, 'follower'],
      {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    )
    child.once('message', () => resolve({ go: () => begin(child) }))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`a process of the hot lock ended with ${code}`))
    })
  })
}

function begin(child: ChildProcess): Promise<Report> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Report))
    child.once('exit', (code) => reject(new Error(`a process of the hot lock ended with ${code}`)))
    child.send('go')
  })
}

async function follow(): Promise<void> {
  const locks = await openLocks(store, address, { fairness: fairness as Fairness })
  const mutex = locks.mutex('hot')
  // A first pair opens the sessions.
  await (await mutex.acquire()).release()
  await new Promise((resolve) => {
    process.once('message', resolve)
    process.send?.('ready')
  })
  const endMs = performance.now() + RUN_MS
  const waitsMs: number[] = []
  const holds: Hold[] = []
  const pairs = await Promise.all(
    Array.from({ length: LOOPS }, async () => {
      let count = 0
      while (performance.now() < endMs) {
        const askedMs = performance.now()
        const lease = await mutex.acquire()
        const gotMs = performance.now()
        if (waitsMs.length < REPORTED) waitsMs.push(gotMs - askedMs)
        // A pair after the end would count only for waiters that had to wait for long.
        if (gotMs < endMs) count += 1
        const grantedMs = clockMs()
        const release = lease.release()
        if (holds.length < REPORTED && fairness === 'fifo')
          holds.push([String(lease.token).padStart(24, '0'), grantedMs, clockMs()])
        await release
      }
      return count
    }),
  )
  await locks.close()
  process.send?.({ pairs, waitsMs, holds } satisfies Report, () => process.exit(0))
}

/** The same clock in all processes of the machine. */
function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
