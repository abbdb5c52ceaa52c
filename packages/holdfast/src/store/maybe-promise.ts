/** A value that a store in this process can give at once, and others promise. */
export type MaybePromise<T> = T | PromiseLike<T>

export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}

/**
 * A promise of what `get` returns or throws. Where that is a promise it is this very one: an async
 * function would make another around it, and a hand-off inside the process costs little more than
 * its promises.
 */
export function promiseOf<T>(get: () => T | Promise<T>): Promise<T> {
  try {
    const value = get()
    return value instanceof Promise ? value : Promise.resolve(value)
  } catch (error) {
    return Promise.reject(error)
  }
}
