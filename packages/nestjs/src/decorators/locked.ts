/** `@Locked`: a method that runs under a lock. */
import {
  isLockError,
  LockUsageError,
  type Lockable,
  type LockError,
  type LockOptions,
  type Locks,
} from 'holdfast'
import { checkDuration, checkKeys, checkWhole, type KnownKeys } from 'holdfast/internal'
import { isBusyError } from '../errors/outcome.js'
import { holdWhile, type RunUnderLock } from './hold-while.js'
import type { LockedMethod, MethodArgs, MethodDecoratorFor } from './method-types.js'
import { wrapMethod, type Call } from './wrap-method.js'

/** The name of a lock, several names, or a function of the method's arguments that returns them. */
export type LockKey<Args extends MethodArgs> =
  string | readonly string[] | ((...args: Args) => string | readonly string[])

/** The options of `@Locked`. */
export interface LockedOptions<Args extends MethodArgs> {
  /** The `name` of the `HoldfastModule` whose locks are used. Default: the one without a name. */
  readonly client?: string | undefined
  /**
   * How long a call waits for the lock, in milliseconds. Default: the `waitMs` of the module, and
   * with `onBusy` other than `'wait'` 0.
   */
  readonly waitMs?: number | undefined
  /** How long the lease lives without renewal, in milliseconds. Default: that of the module. */
  readonly ttlMs?: number | undefined
  /**
   * Takes a readers-writer lock: `'read'` beside other readers, `'write'` alone. Each method under
   * a lock of that name needs a mode. Default: a mutex.
   */
  readonly mode?: 'read' | 'write' | undefined
  /** Takes one permit of a semaphore: at most this number of calls run at a time. */
  readonly permits?: number | undefined
  /**
   * What a call does that does not get the lock. `'wait'` and `'throw'` reject with
   * `LockTimeoutError`. `'skip'` resolves to undefined, and the method does not run. A function is
   * called with the error and the arguments, and its result is that of the call. Default `'wait'`.
   */
  readonly onBusy?:
    'wait' | 'skip' | 'throw' | ((busy: LockError, ...args: Args) => unknown) | undefined
}

const KEYS: KnownKeys<LockedOptions<[]>> = {
  waitMs: 1,
  ttlMs: 1,
  mode: 1,
  permits: 1,
  onBusy: 1,
  client: 1,
}

/**
 * Runs a method of a provider or controller under a lock. The method then returns a promise. Where
 * it returns an Observable, the lock is held until that ends.
 *
 * Inside of the method, `locks.current(name)` is the lease: its `signal` aborts when the lock is
 * lost, and its `token` fences.
 *
 * @throws LockUsageError for options that make no sense, when the class is loaded.
 */
export function Locked<Args extends MethodArgs>(
  key: LockKey<Args>,
  options: LockedOptions<Args> = {},
): MethodDecoratorFor<Args> {
  checkOptions(key, options)
  return <M extends LockedMethod<Args>>(
    target: object,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ) => {
    const place = { target, key: property, descriptor }
    wrapMethod('Locked', place, options.client, (call) => runLocked(call, key, options))
  }
}

async function runLocked<Args extends MethodArgs>(
  call: Call,
  key: LockKey<Args>,
  options: LockedOptions<Args>,
): Promise<unknown> {
  const { onBusy = 'wait' } = options
  const waitMs = options.waitMs ?? (onBusy === 'wait' ? undefined : 0)
  const lock = lockOf(call.locks, namesOf(call, key), options)
  let hasBegun = false
  const run: RunUnderLock = (work) =>
    lock.run(
      (lease) => {
        hasBegun = true
        return work(lease)
      },
      { waitMs },
    )
  try {
    return await holdWhile(run, call.where, call.proceed)
  } catch (error) {
    if (hasBegun || !isLockError(error) || !isBusyError(error)) throw error
    if (onBusy === 'skip') return undefined
    if (typeof onBusy !== 'function') throw error
    return Reflect.apply(onBusy, call.self, [error, ...call.args])
  }
}

function namesOf<Args extends MethodArgs>(call: Call, key: LockKey<Args>): readonly string[] {
  const names: unknown = typeof key === 'function' ? Reflect.apply(key, call.self, call.args) : key
  const list = (Array.isArray(names) ? names : [names]) as readonly string[]
  if (list.length === 0 || list.some((name) => typeof name !== 'string' || name === ''))
    throw new LockUsageError(`@Locked of ${call.where} got no name of a lock from its key.`)
  return [...new Set(list)]
}

/** What the lock of one name and that of several have in common. */
interface AnyLock {
  run<T>(
    work: (lease: { readonly signal: AbortSignal }) => Promise<T>,
    options: { readonly waitMs: number | undefined },
  ): Promise<T>
}

function lockOf(
  locks: Locks,
  names: readonly string[],
  { mode, permits, ttlMs }: LockedOptions<never>,
): AnyLock {
  const own: LockOptions = { ttlMs }
  const each = names.map((name): Lockable => {
    if (permits !== undefined) return locks.semaphore(name, { ...own, permits }).withWeight(1)
    if (mode !== undefined) return locks.readWriteLock(name, own)[mode]
    return locks.mutex(name, own)
  })
  const [only] = each
  return only !== undefined && each.length === 1 ? only : locks.multi(each)
}

function checkOptions<Args extends MethodArgs>(
  key: LockKey<Args>,
  options: LockedOptions<Args>,
): void {
  checkKeys('@Locked', options, KEYS)
  const { waitMs, ttlMs, mode, permits, onBusy } = options
  if (typeof key !== 'string' && typeof key !== 'function' && !Array.isArray(key))
    throw usage('a name, names, or a function that returns them', 'key')
  if (waitMs !== undefined) checkDuration('waitMs', waitMs, { min: 0, infinite: true })
  if (ttlMs !== undefined) checkDuration('ttlMs', ttlMs, { min: 1 })
  if (mode !== undefined && mode !== 'read' && mode !== 'write')
    throw usage(`'read' or 'write'`, 'mode')
  if (permits !== undefined) checkWhole('permits', permits)
  if (mode !== undefined && permits !== undefined)
    throw new LockUsageError(
      '@Locked takes mode or permits: a lock has readers or permits, not both.',
    )
  if (!['undefined', 'function'].includes(typeof onBusy) && !WAYS.has(onBusy))
    throw usage(`'wait', 'skip', 'throw' or a function`, 'onBusy')
}

const WAYS: ReadonlySet<unknown> = new Set(['wait', 'skip', 'throw'])

function usage(wanted: string, what: string): LockUsageError {
  return new LockUsageError(`The ${what} of @Locked must be ${wanted}.`)
}
