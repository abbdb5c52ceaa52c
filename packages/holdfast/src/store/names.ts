/**
 * What may be a lock name, and how names are joined. One rule for every store, so that a lock can
 * move house.
 */
import { LockUsageError } from '../errors.js'

/** The longest full name, namespace included, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 512

// oxlint-disable-next-line no-control-regex -- control characters are just what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

/** Checks one name and returns it. `what` says in the message which argument it was. */
export function checkName(name: unknown, what = 'lock name'): string {
  return checkText(name, what, MAX_NAME_BYTES)
}

/** Checks a text that a store keeps and people read. */
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

/** Puts a namespace before a name and checks the whole. */
export function fullName(namespace: string, name: unknown): string {
  const checked = checkName(name)
  return namespace === ''
    ? checked
    : checkName(`${namespace}:${checked}`, 'lock name with its namespace')
}

function shown(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
}
