/** Free locks in one process: `redis-free.js SUBJECT PORT LOOPS`, each loop on a lock of its own. */
import { makeLocker } from './redis-lockers.js'

const [subject = 'cohort', port = '6379', loops = '64'] = process.argv.slice(2)
const locker = makeLocker(subject, Number(port))
const RUN_MS = 2500

/** Pairs of acquire and release in so many milliseconds. */
async function run(forMs: number): Promise<number> {
  const endMs = performance.now() + forMs
  let pairs = 0
  await Promise.all(
    Array.from({ length: Number(loops) }, async (_, index) => {
      const acquire = locker(`bench ${index}`)
      while (performance.now() < endMs) {
        const release = await acquire()
        await release()
        pairs += 1
      }
    }),
  )
  return pairs
}

await run(RUN_MS / 3)
const startMs = performance.now()
const pairs = await run(RUN_MS)
console.log(JSON.stringify({ pairs: (pairs / (performance.now() - startMs)) * 1000 }))
process.exit(0)
