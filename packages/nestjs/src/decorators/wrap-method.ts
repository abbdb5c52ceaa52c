/**
 * Replaces a method by one that works under a lock. Nest cannot tell it from the original one.
 *
 * Nest and its companions keep metadata on the function of a method: the route, the pattern, the
 * cron expression, the guards. The new function gets a copy of what is there already. Decorators
 * further up add theirs to the new function. So the order of decorators does not matter.
 *
 * Nest injects the locks under a symbol. So each instance has the locks of its own application,
 * also an instance that lives for one request.
 */
import { Inject, Optional, UseInterceptors, type InjectionToken } from '@nestjs/common'
import { LockUsageError, type Locks } from 'holdfast'
import { LockErrorsInterceptor } from '../errors/lock-errors-interceptor.js'
import { DEFAULT_CLIENT, getLocksToken } from '../tokens.js'

/** Marks a class with what is injected into its instances, and a function that is wrapped. */
const MARK = Symbol('holdfast')

/** A call of a decorated method. */
export interface Call {
  readonly locks: Locks
  readonly self: object
  /** The name of the method. */
  readonly key: string | symbol
  readonly args: readonly unknown[]
  /** The class of the instance and the method, such as `Payments.charge`. */
  readonly where: string
  /** Calls the method itself. */
  readonly proceed: () => unknown
}

/** What is decorated: the arguments of a decorator of a method. */
export interface Place {
  readonly target: object
  readonly key: string | symbol
  readonly descriptor: PropertyDescriptor
}

type Method = (this: unknown, ...args: unknown[]) => unknown

/**
 * Replaces the method of a descriptor.
 * @param decorator its name, for errors
 * @param client the name of the module whose locks it uses
 * @param around what a call of the method does instead
 * @throws LockUsageError for what is no method of instances.
 */
export function wrapMethod(
  decorator: string,
  { target, key, descriptor }: Place,
  client: string | undefined,
  around: (call: Call) => Promise<unknown>,
): void {
  const method = methodOf(decorator, { target, key, descriptor })
  const token = getLocksToken(client)
  const className = target.constructor.name
  injectUnder(target, token, token)

  async function underLock(this: unknown, ...args: unknown[]): Promise<unknown> {
    const self = (this ?? {}) as { readonly [token: symbol]: Locks | undefined }
    const locks = self[token]
    if (!locks) throw noModule(decorator, `${className}.${String(key)}`, client)
    const where = `${self.constructor.name}.${String(key)}`
    return around({ locks, self, key, args, where, proceed: () => method.apply(this, args) })
  }

  takeOver(method, underLock)
  descriptor.value = underLock
  mapErrors({ target, key, descriptor })
}

function methodOf(decorator: string, { target, key, descriptor }: Place): Method {
  const method: unknown = (descriptor as PropertyDescriptor | undefined)?.value
  if (typeof key === 'object') {
    throw new LockUsageError(
      `@${decorator} is a decorator as Nest has them: set experimentalDecorators in tsconfig.json.`,
    )
  }
  const where = `${typeof target === 'function' ? target.name : target.constructor.name}.${String(key)}`
  if (typeof method !== 'function')
    throw new LockUsageError(`@${decorator} stands above a method, and ${where} is none.`)
  if (typeof target === 'function') {
    throw new LockUsageError(
      `@${decorator} needs the locks of an instance, and ${where} is static. Make it a method of a provider.`,
    )
  }
  return method as Method
}

/** Lets Nest put a provider into each instance of the class under a symbol, if there is one. */
export function injectUnder(target: object, symbol: symbol, token: InjectionToken): void {
  const known = (Reflect.getMetadata(MARK, target.constructor) ?? []) as readonly symbol[]
  // A subclass inherits the injections of its base class.
  if (known.includes(symbol)) return
  Inject(token)(target, symbol)
  Optional()(target, symbol)
  Reflect.defineMetadata(MARK, [...known, symbol], target.constructor)
}

/** Gives a function the metadata, the name and the length of another one. */
function takeOver(from: Method, to: Method): void {
  for (const key of Reflect.getMetadataKeys(from) as unknown[])
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to)
  // Libraries that log or call a method look at these.
  for (const property of ['name', 'length'] as const)
    Object.defineProperty(to, property, { value: from[property], configurable: true })
}

/**
 * Maps the errors of the method where it handles requests. The interceptor of the module does that
 * for all handlers, but a microservice of a hybrid application may have no global interceptors.
 */
function mapErrors({ target, key, descriptor }: Place): void {
  const method = descriptor.value as Method
  if (Reflect.hasMetadata(MARK, method)) return
  UseInterceptors(LockErrorsInterceptor)(target, key, descriptor)
  Reflect.defineMetadata(MARK, true, method)
}

function noModule(decorator: string, where: string, client = DEFAULT_CLIENT): LockUsageError {
  const name = client === DEFAULT_CLIENT ? '' : `name: ${JSON.stringify(client)}, `
  return new LockUsageError(
    `@${decorator} of ${where} has no locks: import HoldfastModule.forRoot({ ${name}store }) of @holdfast/nestjs, ` +
      'into the module of the class unless it is global, and let Nest make the instance. A constructor runs too early.',
  )
}
