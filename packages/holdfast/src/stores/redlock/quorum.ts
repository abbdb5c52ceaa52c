/** The arithmetic of majorities, as plain functions. */

/** Returns how many nodes are more than half. Any two majorities have a node in common. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

/**
 * Returns the milliseconds that are subtracted from a TTL, since clocks run at different rates. It
 * is 1% and 2 ms, as in the Redlock algorithm (redis.io, "Distributed Locks with Redis").
 */
export function driftMs(ttlMs: number): number {
  return ttlMs * 0.01 + 2
}

/**
 * Returns the `rank`-th largest number, counted from 1: at least `rank` of them reach it. Undefined
 * when there are fewer.
 */
export function reachedBy(numbers: readonly number[], rank: number): number | undefined {
  return [...numbers].sort((a, b) => b - a)[rank - 1]
}
