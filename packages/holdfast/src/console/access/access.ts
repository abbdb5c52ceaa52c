/** Who may see and do what in the console. */
import { describe } from '../../options/describe.js'

/** What a user may do. */
export type Permission = 'look' | 'steal'

/** A user of the console, and what this user may see and do. */
export interface Grant {
  /** Who it is, for the audit and the reason of a steal. */
  readonly user: string
  /** What the user may do. */
  readonly may: readonly Permission[]
  /** Only locks whose full names begin with it exist for this user. Default: all locks. */
  readonly prefix?: string | undefined
}

/** What `authorize` returns: false refuses the request. */
export type Access = false | Grant

/**
 * Decides about a request. `context` is the second argument of `fetch`; `node` passes its `req`.
 */
export type Authorize = (request: Request, context: unknown) => Access | Promise<Access>

/** Returns what is wrong with an answer of `authorize`; undefined when it is false or a grant. */
export function mistakeOf(access: unknown): string | undefined {
  if (access === false) return undefined
  if (typeof access !== 'object' || access === null || Array.isArray(access))
    return `it returned ${describe(access)}`
  const { user, may, prefix } = access as Partial<Record<keyof Grant, unknown>>
  if (typeof user !== 'string' || user === '') return `user is ${describe(user)}`
  if (!Array.isArray(may)) return `may is ${describe(may)}`
  const unknown = may.find((word) => word !== 'look' && word !== 'steal') as unknown
  if (unknown !== undefined) return `may has ${describe(unknown)} in it`
  // Null instead of a prefix, from a database say, must not show all locks.
  if (prefix !== undefined && typeof prefix !== 'string') return `prefix is ${describe(prefix)}`
  return undefined
}
