/** The options of the plugin and of `request.lock`, and their checks. */
import { LockUsageError, type AcquireOptions, type LocksOptions, type Store } from 'holdfast'

/** The options of the plugin: a store, and the options of `createLocks`. */
export interface HoldfastFastifyOptions extends LocksOptions {
  /** Where the locks are kept, such as `redisStore({ client })`. */
  readonly store: Store
  /**
   * How long callers wait for a busy lock, in milliseconds. Default 0 for `request.lock`, which
   * then tries once, and no limit for `acquire` and `run` of `app.locks`.
   */
  readonly waitMs?: number | undefined
  /**
   * What `Retry-After` of a 423 says, in milliseconds. The header has seconds, rounded up. Default
   * 1 000.
   */
  readonly retryAfterMs?: number | undefined
  /**
   * How long handlers under a lock may work on when the application closes, in milliseconds. Their
   * signals abort first. Default 5 000.
   */
  readonly closeGraceMs?: number | undefined
}

/** The options of one `request.lock`. The rest is as in `acquire`. */
export interface RequestLockOptions extends AcquireOptions {
  /**
   * How long to wait for a busy lock, in milliseconds; 0 tries once. Default: the `waitMs` of the
   * plugin, or 0.
   */
  readonly waitMs?: number | undefined
  /** What `Retry-After` of a 423 says, in milliseconds. Default: that of the plugin. */
  readonly retryAfterMs?: number | undefined
}

/** What `request.lock` uses unless the call says otherwise. */
export interface Defaults {
  readonly waitMs: number
  readonly retryAfterMs: number
}

const SET_UP = 'await app.register(holdfastFastify, { store: redisStore({ client }) })'

/**
 * Returns the store, the options of `createLocks` and those of this package.
 * @throws LockUsageError without a store, or for a time that makes no sense.
 */
export function readOptions(given: HoldfastFastifyOptions): {
  readonly store: Store
  readonly locksOptions: LocksOptions
  readonly defaults: Defaults
  readonly closeGraceMs: number
} {
  const { store, retryAfterMs = 1000, closeGraceMs = 5000, ...locksOptions } = given
  if ((store as Store | undefined) === undefined)
    throw new LockUsageError(`@holdfast/fastify needs a store: ${SET_UP}.`)
  checkTime('retryAfterMs', retryAfterMs)
  checkTime('closeGraceMs', closeGraceMs)
  const defaults = { waitMs: locksOptions.waitMs ?? 0, retryAfterMs }
  return { store, locksOptions, defaults, closeGraceMs }
}

/** @throws LockUsageError unless it is a number of milliseconds. */
export function checkTime(name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return
  throw new LockUsageError(`${name} must be a number of milliseconds, not ${String(value)}.`)
}

/** @throws LockUsageError, which says how the plugin is registered so that it sees each handler. */
export function unseenHandler(route: string): LockUsageError {
  return new LockUsageError(
    `request.lock cannot see when the handler of ${route} settles: @holdfast/fastify was not loaded yet when the route or the hook was added. ` +
      `Write "${SET_UP}" before them, with its await, in the same scope or around it.`,
  )
}
