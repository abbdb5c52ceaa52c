/**
 * Pairs of acquire and release per second, by LOOPS loops on one lock: `memory.js
 * holdfast|async-mutex LOOPS [cold]`. With `cold` nothing runs before the time is taken.
 */
import { Mutex } from 'async-mutex'
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { measureGarbage } from '../garbage.js'

const [subject = 'holdfast', loopsText = '1', start = 'warm'] = process.argv.slice(2)
const loops = Number(loopsText)
const PAIRS = 400_000

async function holdfast(pairs: number): Promise<void> {
  const mutex = createLocks(memoryStore()).mutex('bench')
  let left = pairs
  await inLoops(async () => {
    while (left-- > 0) {
      const lease = await mutex.acquire()
      await lease.release()
    }
  })
}

async function asyncMutex(pairs: number): Promise<void> {
  const mutex = new Mutex()
  let left = pairs
  await inLoops(async () => {
    while (left-- > 0) {
      const release = await mutex.acquire()
      release()
    }
  })
}

async function inLoops(loop: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: loops }, loop))
}

const run = subject === 'holdfast' ? holdfast : asyncMutex
if (start === 'warm') await run(PAIRS / 4)
const cpuBefore = process.cpuUsage()
const startMs = performance.now()
await run(PAIRS)
const pairs = (PAIRS / (performance.now() - startMs)) * 1000
const { user, system } = process.cpuUsage(cpuBefore)
const clientUs = (user + system) / PAIRS
const garbage =
  subject === 'holdfast' ? await measureGarbage(() => run(PAIRS).then(() => PAIRS)) : {}
console.log(JSON.stringify({ pairs, clientUs, ...garbage }))
process.exit(0)
