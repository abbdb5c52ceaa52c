/** `@OncePerTick`: a method that one replica of several runs when a timer fires on all. */
import { ModuleRef } from '@nestjs/core'
import { checkDuration, checkKeys, type KnownKeys } from 'holdfast/internal'
import { LockUsageError } from 'holdfast'
import { cronSlot } from './cron-slot.js'
import { holdWhile, type RunUnderLock } from './hold-while.js'
import type { LockedMethod, MethodDecoratorFor } from './method-types.js'
import { injectUnder, wrapMethod, type Call } from './wrap-method.js'

/** The options of `@OncePerTick`. */
export interface OncePerTickOptions {
  /**
   * The name of the lock. Default: the class and the method, such as `Reports.send`. A minifier
   * changes those: state a name then.
   */
  readonly name?: string | undefined
  /**
   * Longer than the clocks of the replicas may differ, in milliseconds. Beside `@Cron`, a run that
   * comes later than that after it was due does not take place. Without `@Cron` the lock stays
   * taken for that long after the grant, and this must be shorter than the time between two ticks.
   */
  readonly atLeastMs: number
  /**
   * What becomes of a tick while the run of an earlier one still works: `skip` leaves it out,
   * `queue` runs it afterwards. Needs `@Cron`. Default `skip`.
   */
  readonly overlap?: 'skip' | 'queue' | undefined
  /**
   * Beside `@Cron`: the TTL of the lease, which is renewed while the method works. Without it: the
   * longest time that the method may take, since that lease is not renewed. In milliseconds.
   * Default: the `ttlMs` of the module; without `@Cron` at least a little more than `atLeastMs`.
   */
  readonly ttlMs?: number | undefined
  /** The `name` of the `HoldfastModule` whose locks are used. Default: the one without a name. */
  readonly client?: string | undefined
}

const KEYS: KnownKeys<OncePerTickOptions> = {
  atLeastMs: 1,
  overlap: 1,
  name: 1,
  ttlMs: 1,
  client: 1,
}

/** Under which Nest injects what finds the jobs of the application. */
const MODULE_REF = Symbol('module of @OncePerTick')

/**
 * Lets a method run on one replica only, where a timer calls it on all. On the others it resolves
 * to undefined. Beside `@Cron` each run that was due takes place once, however far the clocks of
 * the replicas are apart.
 *
 * @throws LockUsageError for options that make no sense, when the class is loaded.
 */
export function OncePerTick(options: OncePerTickOptions): MethodDecoratorFor<[]> {
  checkKeys('@OncePerTick', options, KEYS)
  const { atLeastMs, overlap, ttlMs, name, client } = options
  checkDuration('atLeastMs', atLeastMs, { min: 1 })
  if (overlap !== undefined && overlap !== 'skip' && overlap !== 'queue')
    throw new LockUsageError(`The overlap of @OncePerTick must be 'skip' or 'queue'.`)
  if (ttlMs !== undefined) checkDuration('ttlMs', ttlMs, { min: 1 })
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new LockUsageError('The name of @OncePerTick must be a string that is not empty.')
  return <M extends LockedMethod<[]>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ) => {
    wrapMethod('OncePerTick', { target, key, descriptor }, client, (call) => runTick(call, options))
    injectUnder(target, MODULE_REF, ModuleRef)
  }
}

function runTick(
  { locks, self, key, where, proceed }: Call,
  { name = where, atLeastMs, overlap, ttlMs }: OncePerTickOptions,
): Promise<unknown> {
  const parts = self as Readonly<Record<string | symbol, unknown>>
  // First of all: later the next run may be due.
  const due = cronSlot(parts[MODULE_REF] as ModuleRef | undefined, parts[key])
  const run: RunUnderLock = async (work) => {
    const tick = await locks.oncePerTick(name, work, { atLeastMs, slot: await due, overlap, ttlMs })
    return tick.ran ? tick.value : undefined
  }
  return holdWhile(run, where, proceed)
}
