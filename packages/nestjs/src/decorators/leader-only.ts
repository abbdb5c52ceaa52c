/** `@LeaderOnly`: a method that one instance of the application runs, until it ends or fails. */
import { checkKeys, type KnownKeys } from 'holdfast/internal'
import { LockUsageError } from 'holdfast'
import { candidateFor } from './candidate.js'
import { holdWhile, type RunUnderLock } from './hold-while.js'
import type { LockedMethod, MethodArgs, MethodDecoratorFor } from './method-types.js'
import { wrapMethod, type Call } from './wrap-method.js'

/** The options of `@LeaderOnly`. */
export interface LeaderOnlyOptions<Args extends MethodArgs> {
  /**
   * What an instance answers that does not lead: called with the arguments of the method. Default:
   * the method resolves to undefined.
   */
  readonly otherwise?: ((...args: Args) => unknown) | undefined
  /** The `name` of the `HoldfastModule` whose locks are used. Default: the one without a name. */
  readonly client?: string | undefined
}

const KEYS: KnownKeys<LeaderOnlyOptions<[]>> = { otherwise: 1, client: 1 }

/**
 * Lets a method run on the instance that leads. An instance is a candidate from the first call of
 * such a method on, and stays one until its application closes. Methods with the same name have the
 * same leader.
 *
 * @param name the name of the election
 * @throws LockUsageError for options that make no sense, when the class is loaded.
 */
export function LeaderOnly<Args extends MethodArgs>(
  name: string,
  options: LeaderOnlyOptions<Args> = {},
): MethodDecoratorFor<Args> {
  checkKeys('@LeaderOnly', options, KEYS)
  const { otherwise, client } = options
  if (typeof name !== 'string' || name === '')
    throw new LockUsageError('The name of @LeaderOnly must be a string that is not empty.')
  if (otherwise !== undefined && typeof otherwise !== 'function')
    throw new LockUsageError('The option otherwise of @LeaderOnly must be a function.')
  return <M extends LockedMethod<Args>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<M>,
  ) => {
    const place = { target, key, descriptor }
    wrapMethod('LeaderOnly', place, client, (call) => runAsLeader(call, name, otherwise))
  }
}

async function runAsLeader(
  { locks, self, args, where, proceed }: Call,
  name: string,
  otherwise: ((...args: MethodArgs) => unknown) | undefined,
): Promise<unknown> {
  const lease = await candidateFor(locks, name).leadership()
  if (!lease) return otherwise && Reflect.apply(otherwise, self, args)
  const run: RunUnderLock = (work) =>
    lease.run(async () => {
      const result = await work(lease)
      // Another instance may have led meanwhile. `lease.run` leaves that to its caller.
      lease.assertHeld()
      return result
    })
  return holdWhile(run, where, proceed)
}
