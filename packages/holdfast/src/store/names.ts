/**
 * Which names a lock may have, and how names are joined. Every store has the same rule, so that a
 * lock can move to another store.
 */
import { LockUsageError } from '../errors.js'

/** The longest full name, namespace included, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 512

// oxlint-disable-next-line no-control-regex -- the pattern is about control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/**
 * Checks a name and returns it.
 * @param what the argument, for the error message
 * @throws LockUsageError when the name is no text, empty, too long or not printable.
 */
export function checkName(name: unknown, what = 'lock name'): string {
  return checkText(name, what, MAX_NAME_BYTES)
}

/** Checks a text that a store keeps and people read, and returns it. */
export function checkText(name: unknown, what: string, maxBytes: number): string {
  if (typeof name !== 'string') {
    throw new LockUsageError(
      `A ${what} must be a string, not ${name === null ? 'null' : typeof name}.`,
    )
  }
  if (name === '') throw new LockUsageError(`A ${what} must not be empty.`)
  if (CONTROL.test(name)) {
    throw new LockUsageError(
      `The ${what} ${shown(name)} has a control character in it; use printable text.`,
    )
  }
  if (LONE_SURROGATE.test(name)) {
    throw new LockUsageError(
      `The ${what} ${shown(name)} has half a surrogate pair in it, which UTF-8 cannot carry.`,
    )
  }
  const bytes = Buffer.byteLength(name)
  if (bytes > maxBytes) {
    throw new LockUsageError(
      `The ${what} ${shown(name)} has ${bytes} bytes; at most ${maxBytes} are allowed. Shorten it, or use a hash of the long part.`,
    )
  }
  return name
}

/** Returns a name behind its namespace, both checked. */
export function fullName(namespace: string, name: unknown): string {
  const checked = checkName(name)
  return namespace === ''
    ? checked
    : checkName(`${namespace}:${checked}`, 'lock name with its namespace')
}

function shown(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
}
