/** A value that a store in this process returns at once, and other stores promise. */
export type MaybePromise<T> = T | PromiseLike<T>

/** Returns whether a value is a promise, of any library. */
export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}
