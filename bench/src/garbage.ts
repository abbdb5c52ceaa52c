/** Measures how much garbage a workload makes, from the engine's notes about its collections. */
import { GCProfiler, getHeapStatistics, type GCProfilerResult } from 'node:v8'

/** What one run of a workload left to the garbage collector. */
export interface Garbage {
  /** Bytes allocated on the JavaScript heap for one acquire and release. */
  readonly bytesPerPair: number
  /**
   * Those of them that the quick collections took for long-lived. More than a few mean that
   * something old and dead points at what a pair made.
   */
  readonly oldBytesPerPair: number
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
  let [allocatedBytes, oldBytes, collectingUs] = [0, 0, 0]
  for (const { gcType, beforeGC, afterGC, cost } of profiler.stop().statistics) {
    allocatedBytes += beforeGC.heapStatistics.usedHeapSize - usedBytes
    usedBytes = afterGC.heapStatistics.usedHeapSize
    if (gcType === 'Scavenge') oldBytes += oldBytesOf(afterGC) - oldBytesOf(beforeGC)
    collectingUs += cost
  }
  allocatedBytes += endBytes - usedBytes
  return {
    bytesPerPair: Math.round(allocatedBytes / pairs),
    oldBytesPerPair: Math.round(oldBytes / pairs),
    collectingShare: collectingUs / 1000 / tookMs,
  }
}

type HeapState = GCProfilerResult['statistics'][number]['afterGC']

function oldBytesOf({ heapSpaceStatistics: spaces }: HeapState): number {
  return spaces.find(({ spaceName }) => spaceName === 'old_space')?.spaceUsedSize ?? 0
}
