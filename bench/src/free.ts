/** Free locks in one process: each loop takes and releases a lock of its own, again and again. */
import { measureGarbage } from './garbage.js'
import type { Locker } from './locker.js'
import { type CpuMeter, noMeter } from './server-cpu.js'

const RUN_MS = 2500
/**
 * The warm-up where pairs are slow, for all subjects alike: code becomes fast when it has run some
 * thousand times. One at a time on ZooKeeper the rate doubles up to the fifth second.
 */
export const SLOW_WARM_UP_MS = 5000

export interface FreeOptions {
  readonly runMs?: number
  readonly warmUpMs?: number
  /** Whether a second run, apart from the timed one, counts the garbage. */
  readonly garbage?: boolean
  /** Reads the CPU time of the server before and after the timed run. */
  readonly meter?: CpuMeter
}

/** Prints the pairs a second, and ends the process. */
export async function runFree(
  locker: Locker,
  loops: number,
  { runMs = RUN_MS, warmUpMs = runMs / 3, garbage = false, meter = noMeter }: FreeOptions = {},
): Promise<never> {
  const acquirers = Array.from({ length: loops }, (_, index) => locker(`bench ${index}`))
  await run(acquirers, warmUpMs)
  const cpuBefore = await meter()
  const ownBefore = process.cpuUsage()
  const startMs = performance.now()
  const pairs = await run(acquirers, runMs)
  const tookMs = performance.now() - startMs
  const { user, system } = process.cpuUsage(ownBefore)
  const cpuUs = (await meter()) - cpuBefore
  console.log(
    JSON.stringify({
      pairs: (pairs / tookMs) * 1000,
      clientUs: (user + system) / pairs,
      ...(Number.isNaN(cpuUs) ? {} : { serverUs: cpuUs / pairs }),
      ...(garbage ? await measureGarbage(() => run(acquirers, runMs)) : {}),
    }),
  )
  process.exit(0)
}

/** Resolves to the number of pairs of acquire and release in `forMs`. */
async function run(acquirers: readonly ReturnType<Locker>[], forMs: number): Promise<number> {
  const endMs = performance.now() + forMs
  let pairs = 0
  await Promise.all(
    acquirers.map(async (acquire) => {
      while (performance.now() < endMs) {
        const release = await acquire()
        await release()
        pairs += 1
      }
    }),
  )
  return pairs
}
