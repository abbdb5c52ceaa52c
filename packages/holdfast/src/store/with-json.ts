/**
 * The form in which `JSON.stringify`, `util.inspect` and `console.log` show the library's objects.
 * Tokens are decimal strings, and the whole capacity of a lock is `all`. A foreign error shows only
 * its name, code and message. Clients of servers keep passwords in the other fields of their
 * errors.
 */
import { CAPACITY_ALL } from './claim.js'

/** The name of the method that `util.inspect` and `console.log` ask for what to show. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom')

/** Gives an object a `toJSON` and an `inspect` that are not enumerable. */
export function withJson<T extends object>(value: T): T {
  return shownAs(value, shown)
}

/** Lets `JSON.stringify` and `console.log` show what `show` returns. */
export function shownAs<T extends object>(value: T, show: (this: T) => unknown): T {
  const method = { value: show, configurable: true }
  return Object.defineProperties(value, { toJSON: method, [INSPECT]: method })
}

function shown(this: object): unknown {
  return plainOf({ ...this })
}

/** Returns a copy at which `JSON.stringify` never throws. */
export function plainOf(value: unknown, outer: readonly object[] = []): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return value
  if (value instanceof Error) return summaryOf(value)
  if (outer.includes(value)) return '[Circular]'
  const inner = [...outer, value]
  if (Array.isArray(value)) return value.map((item) => plainOf(item, inner))
  const entries = Object.entries(value).map(
    ([key, item]) => [key, isAll(key, item) ? 'all' : plainOf(item, inner)] as const,
  )
  return Object.fromEntries(entries)
}

/** The capacity of a mutex and the weight of a writer are a number that only stores need. */
function isAll(key: string, item: unknown): boolean {
  return item === CAPACITY_ALL && (key === 'capacity' || key === 'weight')
}

function summaryOf({ name, message, code }: Error & { code?: unknown }): object {
  const isShort = typeof code === 'string' || typeof code === 'number'
  return isShort ? { name, code, message } : { name, message }
}
