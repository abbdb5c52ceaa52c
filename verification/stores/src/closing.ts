/** Stores that close what they were given. */
import type { Store } from 'holdfast/store'

/**
 * Makes `close` end the client or pool as well, once: a suite closes only stores.
 * @returns the same store
 */
export function closing<S extends Store>(store: S, end: () => unknown): S {
  const close = store.close.bind(store)
  let closed: Promise<void> | undefined
  return Object.assign(store, {
    close: () => (closed ??= Promise.resolve(close()).then(async () => void (await end()))),
  })
}
