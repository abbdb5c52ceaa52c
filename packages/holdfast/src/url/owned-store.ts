// Projects with an older `lib` lack it, and the declarations name it.
/// <reference lib="esnext.disposable" preserve="true" />
/** A store that owns its connections. */
import type { Store } from '../store/contract.js'

/** A store whose `close` also closes the connections that were made for it. */
export interface OpenedStore extends Store, AsyncDisposable {}

/** Makes `close` also end the connections of a store, once. */
export function owningStore<S extends Store>(
  store: S,
  end?: () => Promise<unknown>,
): S & AsyncDisposable {
  const closeStore = store.close.bind(store)
  let closed: Promise<void> | undefined
  async function closeBoth(): Promise<void> {
    await closeStore()
    // A connection that failed has already failed the request that needed it. That error counts,
    // not this one.
    await end?.().catch(() => undefined)
  }
  const close = (): Promise<void> => (closed ??= closeBoth())
  return Object.assign(store, { close, [Symbol.asyncDispose]: close })
}
