/** A timer that lasts as long as it should: `systemClock` clamps what Node cannot count. */
import { systemClock } from '../index.js'

/** Calls back after `ms`, however long that is; never for Infinity. Returns what cancels it. */
export function after(ms: number, callback: () => void): () => void {
  if (ms === Infinity) return () => {}
  const dueMs = systemClock.monotonicMs() + ms
  const arm = () => systemClock.timer(dueMs - systemClock.monotonicMs(), onTimer)
  // It may have been clamped. Node also cuts fractions off, and fires up to a millisecond early.
  const onTimer = (): void => {
    if (systemClock.monotonicMs() < dueMs) timer = arm()
    else callback()
  }
  let timer = arm()
  return () => timer.cancel()
}
