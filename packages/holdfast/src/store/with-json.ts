/** Tokens in JSON. They are bigints, at which `JSON.stringify` throws. */

/** The name of the method that `util.inspect` and `console.log` ask for what to show. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

/**
 * Gives an object a `toJSON` that is not enumerable, so that `JSON.stringify` writes its tokens as
 * decimal strings.
 */
export function withJson<T extends object>(value: T): T {
  return Object.defineProperty(value, 'toJSON', { value: plain, configurable: true })
}

function plain(this: object): object {
  const entries = Object.entries(this) as [string, unknown][]
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'bigint' ? String(value) : value]),
  )
}
