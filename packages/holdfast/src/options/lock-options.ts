/**
 * The options of a client and of a lock, checked once at the entrance.
 */
import type { Clock, Random } from '../clock/clock.js'
import { LockUsageError, UnsupportedLockError } from '../errors.js'
import { describe } from './describe.js'
import type { KnownKeys } from './known-keys.js'
import { checkWhole } from './whole-number.js'
import type { Store } from '../store/contract.js'

/** How waiters of different processes take turns. */
export type Fairness = 'cohort' | 'fifo'

/** The options of one lock, and the defaults of all locks of a client. */
export interface LockOptions {
  /** How long a lease lives without renewal, in milliseconds. Default 30 000. */
  readonly ttlMs?: number | undefined
  /** Renew after each third of the TTL while the lease is held. Default true. */
  readonly renew?: boolean | undefined
  /**
   * The longest time that a lease may be held, renewed or not, in milliseconds. Default: no limit.
   */
  readonly maxHoldMs?: number | undefined
  /**
   * How long before the deadline `lease.signal` aborts, in milliseconds, with a
   * `LeaseAtRiskError`. The lease is still held then. At most a third of `ttlMs`. Default 0: it
   * aborts at the loss.
   */
  readonly abortBeforeMs?: number | undefined
  /** A nested `run` in the same async context re-enters instead of failing. Default false. */
  readonly reentrant?: boolean | undefined
  /**
   * `cohort` (the default) passes a lease among the waiters of one process, at most 32 times or 10
   * ms in a row. Then other processes have their turn. `fifo` serves all callers strictly in the
   * order of the store's queue.
   */
  readonly fairness?: Fairness | undefined
  /**
   * The number of callers of this client that may wait for the lock. One more is refused at once
   * with a `LockQueueFullError`. A caller waits from its call until it has the lease. Callers that
   * wait through a lock object without this option do not count. Default: no limit.
   */
  readonly maxWaiters?: number | undefined
  /**
   * With false, `run` resolves when its release is bound to leave and not when it is confirmed.
   * The outcome goes to the events. A later attempt of this client for the same lock leaves behind
   * the release. Up to 1 024 releases of a client are open, and `close` waits for them. Default
   * true.
   */
  readonly awaitRelease?: boolean | undefined
}

/** The options of `createLocks`. Those of a lock are the defaults of its locks. */
export interface LocksOptions extends LockOptions {
  /** Stands before each lock name, with a colon. Default: none. */
  readonly namespace?: string | undefined
  /** Shown by `inspect` as the purpose of this client's claims. */
  readonly label?: string | undefined
  /**
   * How long `acquire` and `run` wait for a busy lock, in milliseconds, without a `waitMs` of their
   * own. Default Infinity.
   */
  readonly waitMs?: number | undefined
  /**
   * After which wait, in milliseconds, a caller that holds leases looks for a deadlock in other
   * clients. False or Infinity turns that off. Default 1 000.
   */
  readonly deadlockCheckMs?: number | false | undefined
  /**
   * Remembers where each lease was acquired, for the event `forgotten`. Costs a stack trace for
   * each acquire. Default false.
   */
  readonly traceAcquires?: boolean | undefined
  /**
   * Where leases are renewed while the event loop is blocked. With `worker` a thread with a
   * connection of its own renews them then, for `blockedAtMostMs`. The store must come from a URL,
   * from plain options, or from `workerStore`. Default: nowhere, and a lease ends by its TTL.
   */
  readonly renewFrom?: 'worker' | undefined
  /**
   * How long the worker of `renewFrom` renews for a blocked event loop, in milliseconds. Then the
   * leases end. Has no default, and must be given with `renewFrom`.
   */
  readonly blockedAtMostMs?: number | undefined
  /**
   * A module for the worker of `renewFrom`: the URL or the absolute path of its file. Its default
   * export is a store, or a function that returns one. Default: the worker opens the store as it
   * was opened here.
   */
  readonly workerStore?: URL | string | undefined
  /** Time, for simulations. */
  readonly clock?: Clock | undefined
  /** Randomness, for simulations. */
  readonly random?: Random | undefined
}

/** How long a call waits. */
export interface WaitOptions {
  /**
   * How long to wait for a busy lock, in milliseconds; 0 tries once. Default Infinity, and 0 for
   * `tryAcquire`.
   */
  readonly waitMs?: number | undefined
  /** Ends the wait: the promise then rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
}

/** The options of a lock that a call may replace for its lease. */
export type LeaseTerms = Pick<LockOptions, 'ttlMs' | 'renew' | 'maxHoldMs' | 'abortBeforeMs'>

/**
 * The options of one call: how long it waits, and terms of its lease that differ from the lock's. A
 * nested `run` that re-enters has the lease of the outer one, with the terms of that.
 */
export interface AcquireOptions extends WaitOptions, LeaseTerms {}

/** The options of one run. */
export interface RunOptions extends AcquireOptions, Pick<LockOptions, 'awaitRelease'> {
  /**
   * How long the lock stays taken after the grant, in milliseconds, also when the work ends earlier
   * or the process exits. The lease is then fixed: it is not renewed. `ttlMs` is the longest time
   * that the work may take, and must be at least a little more than this. `renew: true` is refused
   * with it. ZooKeeper refuses it always.
   */
  readonly atLeastMs?: number | undefined
}

const TERM_KEYS: KnownKeys<LeaseTerms> = { ttlMs: 1, renew: 1, maxHoldMs: 1, abortBeforeMs: 1 }

export const LOCK_KEYS: KnownKeys<LockOptions> = {
  ...TERM_KEYS,
  reentrant: 1,
  fairness: 1,
  maxWaiters: 1,
  awaitRelease: 1,
}

export const CLIENT_KEYS: KnownKeys<LocksOptions> = {
  ...LOCK_KEYS,
  namespace: 1,
  label: 1,
  waitMs: 1,
  deadlockCheckMs: 1,
  traceAcquires: 1,
  renewFrom: 1,
  blockedAtMostMs: 1,
  workerStore: 1,
  clock: 1,
  random: 1,
}

export const WAIT_KEYS: KnownKeys<WaitOptions> = { waitMs: 1, signal: 1 }
export const ACQUIRE_KEYS: KnownKeys<AcquireOptions> = { ...WAIT_KEYS, ...TERM_KEYS }
export const RUN_KEYS: KnownKeys<RunOptions> = { ...ACQUIRE_KEYS, awaitRelease: 1, atLeastMs: 1 }

/** The settings of a lock that a call may replace. */
const TERM_NAMES = ['awaitRelease', ...(Object.keys(TERM_KEYS) as (keyof LeaseTerms)[])] as const

/** The checked options of a lock. */
export interface LockSettings {
  readonly ttlMs: number
  readonly renew: boolean
  readonly maxHoldMs: number
  readonly abortBeforeMs: number
  readonly reentrant: boolean
  readonly fairness: Fairness
  readonly maxWaiters: number
  readonly awaitRelease: boolean
}

const DEFAULTS: LockSettings = {
  ttlMs: 30_000,
  renew: true,
  maxHoldMs: Infinity,
  abortBeforeMs: 0,
  reentrant: false,
  fairness: 'cohort',
  maxWaiters: Infinity,
  awaitRelease: true,
}

const SETTINGS = Object.keys(DEFAULTS) as (keyof LockSettings)[]

/** Below this a lease would end before a busy event loop could renew it. */
const SHORTEST_TTL_MS = 50

/** @throws LockUsageError or UnsupportedLockError when the store cannot grant such leases. */
export function checkTtl(ttlMs: number, store: Pick<Store, 'name' | 'traits'>): void {
  checkDuration('ttlMs', ttlMs, { min: SHORTEST_TTL_MS })
  const [shortest, longest] = store.traits.ttlRangeMs
  if (ttlMs < shortest || ttlMs > longest) {
    throw new UnsupportedLockError(
      `The ${store.name} store grants leases of ${shortest} to ${longest} ms here; ttlMs ${ttlMs} is not among them.`,
      { store: store.name },
    )
  }
}

function checkAbortBefore(abortBeforeMs: number, ttlMs: number, maxHoldMs: number): void {
  checkDuration('abortBeforeMs', abortBeforeMs, { min: 0 })
  const longestMs = Math.floor(ttlMs / 3)
  if (abortBeforeMs > longestMs) {
    throw new LockUsageError(
      `abortBeforeMs must be at most a third of ttlMs (${longestMs} ms), not ${abortBeforeMs}. Raise ttlMs, or lower it.`,
    )
  }
  if (abortBeforeMs >= maxHoldMs) {
    throw new LockUsageError(
      `abortBeforeMs (${abortBeforeMs}) must be less than maxHoldMs (${maxHoldMs}).`,
    )
  }
}

/**
 * Returns the settings of a lock.
 * @param options of a call that has checked their keys
 */
export function lockSettings(
  options: LockOptions,
  defaults: LockSettings,
  store: Pick<Store, 'name' | 'traits'>,
): LockSettings {
  const settings = { ...defaults }
  for (const key of SETTINGS) {
    // An undefined one means the default.
    if (options[key] !== undefined) Object.assign(settings, { [key]: options[key] })
  }
  const { ttlMs, renew, maxHoldMs, abortBeforeMs, reentrant, fairness, maxWaiters, awaitRelease } =
    settings
  checkTtl(ttlMs, store)
  checkDuration('maxHoldMs', maxHoldMs, { min: 1, infinite: true })
  checkAbortBefore(abortBeforeMs, ttlMs, maxHoldMs)
  checkBoolean('renew', renew)
  checkBoolean('reentrant', reentrant)
  checkBoolean('awaitRelease', awaitRelease)
  if (fairness !== 'cohort' && fairness !== 'fifo') {
    throw new LockUsageError(`fairness must be 'cohort' or 'fifo', not ${describe(fairness)}.`)
  }
  if (maxWaiters !== Infinity) checkWhole('maxWaiters', maxWaiters)
  return settings
}

/**
 * Returns the settings of the lease of one call; undefined without terms of its own.
 * @throws LockUsageError or UnsupportedLockError as a lock with these options does.
 */
export function callSettings(
  options: RunOptions,
  settings: LockSettings,
  store: Store,
): LockSettings | undefined {
  if (TERM_NAMES.every((name) => options[name] === undefined)) return undefined
  return lockSettings(options, settings, store)
}

/** Returns the defaults of a client's locks, from the options of `createLocks`. */
export function clientSettings(
  options: LocksOptions,
  store: Pick<Store, 'name' | 'traits'>,
): LockSettings {
  return lockSettings(options, DEFAULTS, store)
}

export function checkWait(waitMs: number | undefined, fallback: number): number {
  if (waitMs === undefined) return fallback
  checkDuration('waitMs', waitMs, { min: 0, infinite: true })
  return waitMs
}

export function checkDeadlockCheck(checkMs: number | false = 1000): number {
  if (checkMs === false) return Infinity
  checkDuration('deadlockCheckMs', checkMs, { min: 1, infinite: true })
  return checkMs
}

export function checkDuration(
  what: string,
  value: unknown,
  range: { readonly min: number; readonly infinite?: boolean },
): asserts value is number {
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw new LockUsageError(`${what} must be a number of milliseconds, not ${describe(value)}.`)
  }
  if (value === Infinity && range.infinite !== true) {
    throw new LockUsageError(`${what} must be finite; give the longest time that makes sense.`)
  }
  if (value < range.min) {
    throw new LockUsageError(`${what} must be at least ${range.min} ms, not ${value}.`)
  }
}

export function checkBoolean(what: string, value: unknown): void {
  if (typeof value !== 'boolean')
    throw new LockUsageError(`${what} must be true or false, not ${describe(value)}.`)
}

export function checkLabel(label: unknown): string {
  if (typeof label === 'string' && label.length <= 1000) return label
  throw new LockUsageError('label must be a string of at most 1000 characters.')
}
