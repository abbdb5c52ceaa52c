/** Where a store comes from, so that another thread can open the same one. */
import type { Store } from './contract.js'

/** - `url`: of `openStore`. - `options`: of the maker of a store. - `module`: exports a store. */
export type StoreSource =
  | { readonly url: string; readonly librariesOf: string | undefined }
  | { readonly maker: 'embedded' | 'redis'; readonly options: object }
  | { readonly module: string }

const sources = new WeakMap<Store, StoreSource>()

/** Notes where a store comes from. Returns the store. */
export function withSource<S extends Store>(store: S, source: StoreSource): S {
  sources.set(store, source)
  return store
}

/** Returns where a store comes from; undefined for one with a client that was passed in. */
export function sourceOf(store: Store): StoreSource | undefined {
  return sources.get(store)
}
