/** The namespace of a client, for parts of the library that are given a client. */
import { LockUsageError } from '../errors.js'

/** Shared by all copies of the library in a process: a bundler may make several. */
const NAMESPACE = Symbol.for('holdfast:namespace')

/** Notes the namespace of a client. Returns the client. */
export function withNamespace<T extends object>(locks: T, namespace: string): T {
  return Object.defineProperty(locks, NAMESPACE, { value: namespace })
}

/**
 * Returns the namespace of a client; an empty text for one without a namespace.
 * @throws LockUsageError for something else than a client.
 */
export function namespaceOf(locks: object): string {
  const namespace = (locks as { readonly [NAMESPACE]?: unknown })[NAMESPACE]
  if (typeof namespace === 'string') return namespace
  throw new LockUsageError('These locks were not made by createLocks of this version.')
}
