/**
 * setTimeout without its limit of 24 days, beyond which it would fire at once, and never too early.
 */

const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls back after `ms`, however long that is; never for Infinity. Returns what cancels it. */
export function after(ms: number, callback: () => void): () => void {
  if (ms === Infinity) return () => {}
  const dueMs = performance.now() + ms
  let timer: NodeJS.Timeout
  const arm = (): void => {
    timer = setTimeout(
      onTimer,
      Math.min(Math.max(0, Math.ceil(dueMs - performance.now())), MAX_TIMER_MS),
    )
  }
  // Node cuts fractions off, so a timer can fire up to a millisecond early.
  const onTimer = (): void => (performance.now() < dueMs ? arm() : callback())
  arm()
  return () => clearTimeout(timer)
}
