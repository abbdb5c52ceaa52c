import type { Store } from 'holdfast/store'

/** Returns the store with a `close` that also closes its connections. */
export function closing<S extends Store>(store: S, end: () => Promise<unknown>): S {
  return new Proxy(store, {
    get(target, property) {
      if (property === 'close') {
        return async (): Promise<void> => {
          await target.close()
          // A connection that failed has already failed the request that needed it. That error
          // counts, not this one.
          await end().catch(() => undefined)
        }
      }
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
