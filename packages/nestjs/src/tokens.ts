/** The names under which Nest injects locks. */
import { Inject } from '@nestjs/common'
import { LockUsageError } from 'holdfast'

export const DEFAULT_CLIENT = 'default'

/**
 * Returns the token of the locks of a module, for `@Inject`, `app.get` and `overrideProvider`.
 *
 * It is a registered symbol: two copies of this package in one program share it.
 * @param name the `name` of the module; without one, the module that has none
 */
export function getLocksToken(name: string = DEFAULT_CLIENT): symbol {
  if (typeof name !== 'string' || name === '')
    throw new LockUsageError('The name of a HoldfastModule must be a string that is not empty.')
  return Symbol.for(
    name === DEFAULT_CLIENT
      ? 'locks of HoldfastModule'
      : `locks of HoldfastModule ${JSON.stringify(name)}`,
  )
}

/** Injects the locks of a module into a parameter or a property. */
export function InjectLocks(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLocksToken(name))
}
