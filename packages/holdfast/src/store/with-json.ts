/** Tokens in JSON. They are bigints, at which `JSON.stringify` throws. */

/** Gives an object a `toJSON` that is not enumerable, so that `JSON.stringify` writes its tokens as decimal strings. */
export function withJson<T extends object>(value: T): T {
  return Object.defineProperty(value, 'toJSON', { value: plain, configurable: true })
}

function plain(this: object): object {
  const entries = Object.entries(this) as [string, unknown][]
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'bigint' ? String(value) : value]),
  )
}
