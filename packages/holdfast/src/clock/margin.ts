/**
 * Returns what is taken off a TTL, in milliseconds, for clocks that run at different rates and for
 * timers that fire late. It is 1% and 2 ms, as in the Redlock algorithm (redis.io, "Distributed
 * Locks with Redis").
 */
export function marginMs(ttlMs: number): number {
  return ttlMs * 0.01 + 2
}
