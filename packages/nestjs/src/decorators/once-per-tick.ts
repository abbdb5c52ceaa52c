/** `@OncePerTick`: a method that one replica of several runs when a timer fires on all. */
import { checkDuration, checkKeys, type KnownKeys } from 'holdfast/internal'
import { LockUsageError } from 'holdfast'
import { holdWhile, type RunUnderLock } from './hold-while.js'
import type { LockedMethod, MethodDecoratorFor } from './method-types.js'
import { wrapMethod, type Call } from './wrap-method.js'

/** The options of `@OncePerTick`. */
export interface OncePerTickOptions {
  /**
   * The name of the lock. Default: the class and the method, such as `Reports.send`. A minifier
   * changes those: state a name then.
   */
  readonly name?: string | undefined
  /**
   * How long the lock stays taken after the grant, in milliseconds. It must be longer than the
   * clocks of the replicas differ, and shorter than the time between two ticks.
   */
  readonly atLeastMs: number
  /**
   * The longest time that the method may take, in milliseconds: the lease is not renewed. Default:
   * the `ttlMs` of the module, or a little more than `atLeastMs` if that is longer.
   */
  readonly ttlMs?: number | undefined
  /** The `name` of the `HoldfastModule` whose locks are used. Default: the one without a name. */
  readonly client?: string | undefined
}

const KEYS: KnownKeys<OncePerTickOptions> = { atLeastMs: 1, name: 1, ttlMs: 1, client: 1 }

/**
 * Lets a method run on one replica only, where a timer such as `@Cron` calls it on all. On the
 * others it resolves to undefined at once.
 *
 * @throws LockUsageError for options that make no sense, when the class is loaded.
 */
export function OncePerTick(options: OncePerTickOptions): MethodDecoratorFor<[]> {
  checkKeys('@OncePerTick', options, KEYS)
  const { atLeastMs, ttlMs, name, client } = options
  checkDuration('atLeastMs', atLeastMs, { min: 1 })
  if (ttlMs !== undefined) checkDuration('ttlMs', ttlMs, { min: 1 })
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new LockUsageError('The name of @OncePerTick must be a string that is not empty.')
  return <M extends LockedMethod<[]>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ) =>
    wrapMethod('OncePerTick', { target, key, descriptor }, client, (call) => runTick(call, options))
}

function runTick(
  { locks, where, proceed }: Call,
  { name = where, atLeastMs, ttlMs }: OncePerTickOptions,
): Promise<unknown> {
  const run: RunUnderLock = async (work) => {
    const tick = await locks.oncePerTick(name, work, { atLeastMs, ttlMs })
    return tick.ran ? tick.value : undefined
  }
  return holdWhile(run, where, proceed)
}
