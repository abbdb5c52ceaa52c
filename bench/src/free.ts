/** Free locks in one process: each loop takes a lock of its own, and gives it back. */
import type { Locker } from './locker.js'

const RUN_MS = 2500

/**
 * Prints the pairs a second, and ends the process.
 * @param warmUpMs longer where pairs are slow: code runs fast when it has run some thousand times
 */
export async function runFree(
  locker: Locker,
  loops: number,
  runMs = RUN_MS,
  warmUpMs = runMs / 3,
): Promise<never> {
  await run(locker, loops, warmUpMs)
  const startMs = performance.now()
  const pairs = await run(locker, loops, runMs)
  console.log(JSON.stringify({ pairs: (pairs / (performance.now() - startMs)) * 1000 }))
  process.exit(0)
}

/** Pairs of acquire and release in so many milliseconds. */
async function run(locker: Locker, loops: number, forMs: number): Promise<number> {
  const endMs = performance.now() + forMs
  let pairs = 0
  await Promise.all(
    Array.from({ length: loops }, async (_, index) => {
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
