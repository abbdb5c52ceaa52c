/** A value that a store in this process returns at once, and other stores promise. */
export type MaybePromise<T> = T | PromiseLike<T>

export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}

/**
 * Returns a promise of what `get` returns or throws. A promise from `get` is returned itself: an
 * async function would wrap it in another, and promises are most of the cost of a local hand-off.
 */
export function promiseOf<T>(get: () => T | Promise<T>): Promise<T> {
  try {
    const value = get()
    return value instanceof Promise ? value : Promise.resolve(value)
  } catch (error) {
    return Promise.reject(error)
  }
}
