/** setTimeout without its limit of 24 days, beyond which it would fire at once. */

const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls back after `ms`, however long that is; never for Infinity. Returns what cancels it. */
export function after(ms: number, callback: () => void): () => void {
  if (ms === Infinity) return () => {}
  const dueMs = performance.now() + ms
  let timer: NodeJS.Timeout
  const arm = (): void => {
    const leftMs = dueMs - performance.now()
    timer = leftMs <= MAX_TIMER_MS ? setTimeout(callback, Math.max(0, leftMs)) : setTimeout(arm, MAX_TIMER_MS)
  }
  arm()
  return () => clearTimeout(timer)
}
