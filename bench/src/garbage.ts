/** Measures how much garbage a workload makes, from the engine's notes about its collections. */
import { GCProfiler, getHeapStatistics } from 'node:v8'

/** What one run of a workload left to the garbage collector. */
export interface Garbage {
  /** Bytes allocated on the JavaScript heap for one acquire and release. */
  readonly bytesPerPair: number
  /** Share of the run, from 0 to 1, during which the main thread stood still for a collection. */
  readonly collectingShare: number
}

/**
 * Runs the workload under the engine's profiler of collections. Apart from the timed run, which
 * stays without it.
 * @param run resolves to the number of pairs
 */
export async function measureGarbage(run: () => Promise<number>): Promise<Garbage> {
  const profiler = new GCProfiler()
  profiler.start()
  const startMs = performance.now()
  let usedBytes = getHeapStatistics().used_heap_size
  const pairs = await run()
  const endBytes = getHeapStatistics().used_heap_size
  const tookMs = performance.now() - startMs
  let [allocatedBytes, collectingUs] = [0, 0]
  for (const { beforeGC, afterGC, cost } of profiler.stop().statistics) {
    allocatedBytes += beforeGC.heapStatistics.usedHeapSize - usedBytes
    usedBytes = afterGC.heapStatistics.usedHeapSize
    collectingUs += cost
  }
  allocatedBytes += endBytes - usedBytes
  return {
    bytesPerPair: Math.round(allocatedBytes / pairs),
    collectingShare: collectingUs / 1000 / tookMs,
  }
}
