/**
 * Callbacks under a lock per second, one after the other: `memory-run.js run|by-hand`. `by-hand` is
 * what `run` replaces: acquire, a context that a nested call can find, the callback, release.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { measureGarbage } from '../garbage.js'

const [subject = 'run'] = process.argv.slice(2)
const PAIRS = 400_000
const mutex = createLocks(memoryStore()).mutex('bench')
const contexts = new AsyncLocalStorage<object>()
let calls = 0

async function work(): Promise<void> {
  calls += 1
}

async function byHand(): Promise<void> {
  const lease = await mutex.acquire()
  try {
    await contexts.run(lease, work)
  } finally {
    await lease.release()
  }
}

async function repeat(pairs: number): Promise<number> {
  if (subject === 'run') for (let pair = 0; pair < pairs; pair += 1) await mutex.run(work)
  else for (let pair = 0; pair < pairs; pair += 1) await byHand()
  return pairs
}

await repeat(PAIRS / 4)
const cpuBefore = process.cpuUsage()
const startMs = performance.now()
await repeat(PAIRS)
const pairs = (PAIRS / (performance.now() - startMs)) * 1000
const { user, system } = process.cpuUsage(cpuBefore)
const clientUs = (user + system) / PAIRS
const garbage = await measureGarbage(() => repeat(PAIRS))
if (calls !== PAIRS / 4 + 2 * PAIRS) throw new Error(`${calls} callbacks have run`)
console.log(JSON.stringify({ pairs, clientUs, ...garbage }))
process.exit(0)
