/** `HoldfastModule`: the locks of an application as providers. */
import {
  Module,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  type Provider,
} from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import { createLocks, LockUsageError, type Locks } from 'holdfast'
import { LockErrorsInterceptor } from './errors/lock-errors-interceptor.js'
import { HoldfastHealthIndicator } from './health-indicator.js'
import { LocksCloser } from './locks-closer.js'
import type {
  HoldfastModuleAsyncOptions,
  HoldfastModuleOptions,
  HoldfastModulePlace,
  HoldfastOptions,
  HoldfastOptionsFactory,
} from './options.js'
import { getLocksToken } from './tokens.js'

/** The options of one module, and what closes its locks. No other module sees them. */
const OPTIONS = Symbol('options of HoldfastModule')
const CLOSER = Symbol('closer of HoldfastModule')

/**
 * Provides locks for injection and for the decorators, and closes them at the end of the
 * application.
 *
 * @example
 * HoldfastModule.forRoot({ store: await openStore('redis://localhost') })
 */
@Module({})
export class HoldfastModule {
  /** Makes the locks of a store. */
  static forRoot(options: HoldfastModuleOptions): DynamicModule {
    const { name, isGlobal, ...own } = options
    return moduleOf({ name, isGlobal }, [{ provide: OPTIONS, useValue: own }])
  }

  /** Makes the locks of a store that needs other providers, such as a client or a configuration. */
  static forRootAsync(options: HoldfastModuleAsyncOptions): DynamicModule {
    const { imports = [] } = options
    return { ...moduleOf(options, optionProviders(options)), imports }
  }
}

function moduleOf(
  { name, isGlobal = true }: HoldfastModulePlace,
  options: Provider[],
): DynamicModule {
  const locks = getLocksToken(name)
  return {
    module: HoldfastModule,
    global: isGlobal,
    providers: [
      ...options,
      { provide: locks, useFactory: locksOf, inject: [OPTIONS] },
      { provide: CLOSER, useFactory: closerOf, inject: [locks, OPTIONS] },
      { provide: APP_INTERCEPTOR, useClass: LockErrorsInterceptor },
      HoldfastHealthIndicator,
    ],
    exports: [locks, HoldfastHealthIndicator],
  }
}

function locksOf(options: HoldfastOptions): Locks {
  const { store, ownOfLocks } = split(options)
  return createLocks(store, ownOfLocks)
}

function closerOf(locks: Locks, options: HoldfastOptions): LocksCloser {
  return new LocksCloser(locks, split(options).closeGraceMs)
}

/** Separates the options of the module from those of `createLocks`, which checks its own. */
function split({ store, closeGraceMs, ...ownOfLocks }: HoldfastOptions) {
  return { store, closeGraceMs, ownOfLocks }
}

function optionProviders(options: HoldfastModuleAsyncOptions): Provider[] {
  const { useFactory, useClass, useExisting, inject = [] } = options
  const given = [useFactory, useClass, useExisting].filter((one) => one !== undefined)
  if (given.length !== 1) {
    throw new LockUsageError(
      `HoldfastModule.forRootAsync takes one of useFactory, useClass and useExisting, not ${given.length} of them.`,
    )
  }
  if (useFactory) return [{ provide: OPTIONS, useFactory, inject: [...inject] }]
  const factory = (useClass ?? useExisting) as InjectionToken<HoldfastOptionsFactory>
  const own: FactoryProvider<HoldfastOptions> = {
    provide: OPTIONS,
    useFactory: (maker: HoldfastOptionsFactory) => maker.createHoldfastOptions(),
    inject: [factory],
  }
  return useClass ? [useClass, own] : [own]
}
