import type { Store } from 'holdfast/store'

/** The store of a pool that was made for it: closing the one ends the other. */
export function closing<S extends Store>(store: S, end: () => Promise<unknown>): S {
  return new Proxy(store, {
    get(target, property) {
      if (property === 'close') {
        return async (): Promise<void> => {
          await target.close()
          // A connection that could not be made, or broke, has failed what needed it already. That
          // error is to be told, not this one.
          await end().catch(() => undefined)
        }
      }
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
