/** How often the main thread gives its beat, and how often the helper looks for it. */

const TIMES_PER_TTL = 12
const RANGE_MS = [5, 1000] as const

/** Returns the pause between two beats or looks, for the shortest TTL of all leases. */
export function pauseFor(shortestTtlMs: number): number {
  const [shortest, longest] = RANGE_MS
  return Math.min(longest, Math.max(shortest, shortestTtlMs / TIMES_PER_TTL))
}
