/**
 * Refuses keys of an options object that the call does not know: a misspelt option would be
 * ignored, and its default used in silence.
 */
import { LockUsageError, type LockErrorDetails } from '../errors.js'
import { describe } from './describe.js'
import { adviceOn } from './unknown-key-advice.js'

/**
 * All keys of an options type: a missing one does not compile, nor one too many. Errors show the
 * first key as an example.
 */
export type KnownKeys<T> = Readonly<Record<keyof T, 1>>

/**
 * Checks that a value is an object with known keys only. A loop over the keys of a new object takes
 * 10 ns; to remember checked objects in a `WeakSet` takes 200 ns.
 * @param call the call whose options these are, such as `acquire`
 * @throws LockUsageError which names the key that was probably meant.
 */
export function checkKeys<T>(
  call: string,
  options: unknown,
  known: KnownKeys<T>,
  details?: LockErrorDetails,
): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw notOptions(call, options, known, details)
  for (const key in options) {
    // A key that every object inherits, such as `toString`, has another value here.
    if (
      (known as Readonly<Record<string, unknown>>)[key] !== 1 &&
      !(key in Object.prototype && !Object.hasOwn(options, key))
    )
      throw unknownKey(call, options, key, known, details)
  }
}

/**
 * Refuses an options object for a call that takes none. Another additional value is no option, such
 * as the index that `map` passes.
 * @throws LockUsageError which names the call that takes such an option.
 */
export function checkNoOptions(call: string, extra: unknown, details?: LockErrorDetails): void {
  if (typeof extra === 'object' && extra !== null) checkKeys(call, extra, {}, details)
}

function unknownKey(
  call: string,
  options: object,
  key: string,
  known: object,
  details?: LockErrorDetails,
): LockUsageError {
  if (isClient(options)) return notOptions(call, options, known, details)
  const advice = adviceOn(key, Object.keys(known), call)
  const text = `There is no option ${describe(key)} for ${call}. ${advice}`
  return new LockUsageError(text, details)
}

function notOptions(
  call: string,
  value: unknown,
  known: object,
  details?: LockErrorDetails,
): LockUsageError {
  const [first] = Object.keys(known)
  const [wanted, given] =
    value instanceof AbortSignal
      ? ['{ signal }', 'the signal itself']
      : [`{ ${first} }`, isClient(value) ? `the ${first} itself` : describe(value)]
  const text =
    first === undefined ? `${call} takes no options.` : `${call} takes ${wanted}, not ${given}.`
  return new LockUsageError(text, details)
}

/** Whether a value is a client, a pool or a signal: options have no such methods. */
function isClient(value: unknown): boolean {
  const methods = (value ?? {}) as Readonly<Record<string, unknown>>
  return ['on', 'query', 'unsafe', 'addEventListener'].some(
    (name) => typeof methods[name] === 'function',
  )
}
