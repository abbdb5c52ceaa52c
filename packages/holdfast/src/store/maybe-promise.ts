/** A value that a store in this process can give at once, and others promise. */
export type MaybePromise<T> = T | PromiseLike<T>

export function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}
