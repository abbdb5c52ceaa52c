/** The options of `HoldfastModule`. */
import type {
  InjectionToken,
  ModuleMetadata,
  OptionalFactoryDependency,
  Type,
} from '@nestjs/common'
import type { LocksOptions, Store } from 'holdfast'

/** What a factory of `forRootAsync` returns. */
export interface HoldfastOptions extends LocksOptions {
  /** The store of the locks. `openStore(url)` of `holdfast/url` makes one that owns its client. */
  readonly store: Store
  /**
   * How long methods under locks may take to end after the application began to close, in
   * milliseconds. Default 5 000.
   */
  readonly closeGraceMs?: number | undefined
}

/** What stands outside of a factory: the module must know it before it has made anything. */
export interface HoldfastModulePlace {
  /** The name of these locks, for applications with several stores. Default: none. */
  readonly name?: string | undefined
  /** Whether all modules see the locks without importing this one. Default true. */
  readonly isGlobal?: boolean | undefined
}

/** The options of `HoldfastModule.forRoot`. */
export interface HoldfastModuleOptions extends HoldfastOptions, HoldfastModulePlace {}

/** A class that makes the options, for `useClass` and `useExisting`. */
export interface HoldfastOptionsFactory {
  /** Returns the options of the module. */
  createHoldfastOptions(): HoldfastOptions | Promise<HoldfastOptions>
}

/** The options of `HoldfastModule.forRootAsync`: one of `useFactory`, `useClass`, `useExisting`. */
export interface HoldfastModuleAsyncOptions extends HoldfastModulePlace {
  /** The modules whose providers the factory needs. */
  readonly imports?: ModuleMetadata['imports']
  /** What `useFactory` is called with. */
  readonly inject?: readonly (InjectionToken | OptionalFactoryDependency)[] | undefined
  /** Returns the options. */
  // oxlint-disable-next-line typescript/no-explicit-any -- Nest passes what `inject` names
  readonly useFactory?: ((...args: any[]) => HoldfastOptions | Promise<HoldfastOptions>) | undefined
  /** A class to make, whose method returns the options. */
  readonly useClass?: Type<HoldfastOptionsFactory> | undefined
  /** A provider of `imports`, whose method returns the options. */
  readonly useExisting?: InjectionToken<HoldfastOptionsFactory> | undefined
}
