/** What a test has opened, closed after it. */
import type { Store } from 'holdfast/store'
import { afterEach } from 'vitest'

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

/** Runs after the test, the last one first; also when the test fails. */
export function after(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

/** Closes the store after the test. */
export function closing<S extends Store>(store: S): S {
  after(() => store.close())
  return store
}
