/**
 * The names of keys. `{…}` around the lock name keeps all keys of a lock on one node of a Cluster.
 * So braces in the name itself are escaped, and the escape character too.
 */

/**
 * What stands behind the key of a lock's state in the other keys of the lock; see
 * `rule/parts/lock-state.lua`.
 */
const HELPERS = [':h', ':q', ':w', ':t']
const SPECIAL = /[{}%]/
const GLOB = /[\\*?[\]^-]/g

export const LONGEST_PREFIX = 64

/** Nothing that a pattern, an ACL rule or a hash tag would take for something else. */
export function isPrefix(prefix: unknown): prefix is string {
  return typeof prefix === 'string' && /^[\w.:-]+$/.test(prefix) && prefix.length <= LONGEST_PREFIX
}

/** The key of a lock's state; the other keys of the lock begin with it. */
export function keyOf(prefix: string, lock: string): string {
  return `${prefix}:{${SPECIAL.test(lock) ? escape(lock) : lock}}`
}

/**
 * All keys of a lock. A Cluster serves a script only when all keys that it names are in one place.
 */
export function withHelpers(keys: readonly string[]): string[] {
  const heads = new Set(keys)
  return keys.concat(...Array.from(heads, (head) => HELPERS.map((suffix) => head + suffix)))
}

/** The lock of a key, or undefined for one that is not the key of a lock's state. */
export function lockOf(prefix: string, key: string): string | undefined {
  const start = `${prefix}:{`
  // A prefix of the client may have braces as well.
  if (!key.startsWith(start) || key.indexOf('}', start.length) !== key.length - 1) return undefined
  return key.slice(start.length, -1).replace(/%(25|7B|7D)/g, (code) => decodeURIComponent(code))
}

/** A pattern for SCAN that fits the keys of all locks whose names begin alike. */
export function patternOf(prefix: string, beginning: string): string {
  return `${`${prefix}:{${escape(beginning)}`.replace(GLOB, String.raw`\$&`)}*}`
}

function escape(name: string): string {
  return name.replace(/[{}%]/g, encodeURIComponent)
}
