/** In which async context a claim that waits attempts again. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'

const callers = new AsyncLocalStorage<string>()

/** A store that notes in which context it is asked, and wakes no waiter. */
function notingStore(): { store: Store; attempts: unknown[]; watches: unknown[] } {
  const store: Store = memoryStore()
  const [attempts, watches]: [unknown[], unknown[]] = [[], []]
  const attempt = store.attempt.bind(store)
  Object.assign(store, {
    attempt(...args: Parameters<Store['attempt']>) {
      attempts.push(callers.getStore())
      return attempt(...args)
    },
    watch() {
      watches.push(callers.getStore())
      return { ready: undefined, close: () => undefined }
    },
  })
  return { store, attempts, watches }
}

test('later attempts of a claim that waits belong to no caller', async () => {
  const { store, attempts, watches } = notingStore()
  // Ends by itself, so that the claim that waits attempts again at that time.
  const holder = createLocks(store, { renew: false, ttlMs: 100 })
  await holder.mutex('busy').acquire()
  const waiter = createLocks(store)
  attempts.length = 0
  const lease = await callers.run('waiter', () => waiter.mutex('busy').acquire())
  expect(attempts.length).toBeGreaterThan(1)
  expect(attempts).toEqual(['waiter', ...attempts.slice(1).map(() => undefined)])
  expect(watches).toEqual([undefined])
  await lease.release()
  await Promise.all([holder.close(), waiter.close()])
})
