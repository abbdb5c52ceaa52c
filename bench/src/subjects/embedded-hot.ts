/** One hot lock: `embedded-hot.js fifo|cohort` starts four processes of sixteen loops each. */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLocks, type Fairness } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { percentile } from '../stats.js'

const PROCESSES = 4
const LOOPS = 16
/** Four processes on two cores compile for seconds what each pair runs. */
const WARM_UP_MS = 4000
const RUN_MS = 3000

/** What a process reports when its run has ended. */
interface Report {
  readonly pairs: number
  readonly waitsMs: number[]
}

const [fairness = 'fifo', directory] = process.argv.slice(2)
if (directory === undefined) await lead()
else await follow(directory, fairness as Fairness)

async function lead(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const reports = await Promise.all(Array.from({ length: PROCESSES }, () => startFollower(folder)))
  rmSync(folder, { recursive: true })
  const waitsMs = reports.flatMap((one) => one.waitsMs)
  const pairs = reports.reduce((sum, one) => sum + one.pairs, 0) / (RUN_MS / 1000)
  console.log(
    JSON.stringify({
      pairs,
      p50Ms: percentile(waitsMs, 0.5),
      p99Ms: percentile(waitsMs, 0.99),
      maxMs: Math.max(...waitsMs.slice(0, 50_000)),
    }),
  )
}

function startFollower(folder: string): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [fairness, folder], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.on('message', (message) => resolve(message as Report))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code !== 0) reject(new Error(`a process of the hot lock ended with ${code}`))
    })
  })
}

async function follow(folder: string, how: Fairness): Promise<void> {
  const locks = createLocks(embeddedStore({ directory: folder }), { fairness: how })
  const mutex = locks.mutex('hot')
  // A first pair opens the store, so that all of them begin at about the same time.
  await (await mutex.acquire()).release()
  const beginMs = performance.now() + WARM_UP_MS
  const endMs = beginMs + RUN_MS
  const waitsMs: number[] = []
  let pairs = 0
  await Promise.all(
    Array.from({ length: LOOPS }, async () => {
      while (performance.now() < endMs) {
        const askedMs = performance.now()
        const lease = await mutex.acquire()
        const grantedMs = performance.now()
        if (grantedMs >= beginMs) {
          if (pairs % 8 === 0) waitsMs.push(grantedMs - askedMs)
          pairs += 1
        }
        await lease.release()
      }
    }),
  )
  await locks.close()
  process.send?.({ pairs, waitsMs: waitsMs.slice(0, 20_000) } satisfies Report, () =>
    process.exit(0),
  )
}
