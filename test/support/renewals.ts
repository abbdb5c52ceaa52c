/** What tests that renew in real time wait for. */
import { onLockEvent } from 'holdfast'

/** Resolves when the store has acknowledged the next renewal of the lock. */
export function nextRenewal(lock: string): Promise<void> {
  return new Promise((resolve) => {
    const ignore = onLockEvent('renewed', (event) => {
      if (event.lock !== lock) return
      ignore()
      resolve()
    })
  })
}
