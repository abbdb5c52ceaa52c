/** One hot lock on etcd or ZooKeeper: `service-hot.js STORE ADDRESS fifo|cohort` starts four processes of sixteen loops. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Fairness } from 'holdfast'
import { openLocks } from '../service-locks.js'
import { percentile } from '../stats.js'

const PROCESSES = 4
const LOOPS = 16
const RUN_MS = 3000

interface Told {
  readonly pairs: number
  readonly waitsMs: number[]
}

const [store = '', address = '', fairness = 'fifo', role] = process.argv.slice(2)
if (role === undefined) await lead()
else await follow()

async function lead(): Promise<void> {
  const told = await Promise.all(Array.from({ length: PROCESSES }, startFollower))
  const waitsMs = told.flatMap((one) => one.waitsMs)
  const pairs = told.reduce((sum, one) => sum + one.pairs, 0) / (RUN_MS / 1000)
  console.log(JSON.stringify({ pairs, p50Ms: percentile(waitsMs, 0.5), p99Ms: percentile(waitsMs, 0.99) }))
}

function startFollower(): Promise<Told> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [store, address, fairness, 'follower'], {
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
  const locks = openLocks(store, address, { fairness: fairness as Fairness })
  const mutex = locks.mutex('hot')
  // A first pair opens the sessions, so that all of them begin at about the same time.
  await (await mutex.acquire()).release()
  const endMs = performance.now() + RUN_MS
  const waitsMs: number[] = []
  let pairs = 0
  await Promise.all(
    Array.from({ length: LOOPS }, async () => {
      while (performance.now() < endMs) {
        const askedMs = performance.now()
        const lease = await mutex.acquire()
        waitsMs.push(performance.now() - askedMs)
        pairs += 1
        await lease.release()
      }
    }),
  )
  await locks.close()
  process.send?.({ pairs, waitsMs: waitsMs.slice(0, 20_000) } satisfies Told, () => process.exit(0))
}
