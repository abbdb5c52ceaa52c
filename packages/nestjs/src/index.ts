/** `@holdfast/nestjs`: distributed locks for NestJS. */
export { HoldfastModule } from './holdfast-module.js'
export { HoldfastTestingModule, type HoldfastTestingModuleOptions } from './testing-module.js'
export type {
  HoldfastModuleAsyncOptions,
  HoldfastModuleOptions,
  HoldfastModulePlace,
  HoldfastOptions,
  HoldfastOptionsFactory,
} from './options.js'
export { getLocksToken, InjectLocks } from './tokens.js'
export { Locked, type LockedOptions, type LockKey } from './decorators/locked.js'
export { OncePerTick, type OncePerTickOptions } from './decorators/once-per-tick.js'
export { LeaderOnly, type LeaderOnlyOptions } from './decorators/leader-only.js'
export type { LockedMethod, MethodArgs, MethodDecoratorFor } from './decorators/method-types.js'
export { LockErrorsInterceptor } from './errors/lock-errors-interceptor.js'
export {
  HoldfastHealthIndicator,
  type HoldfastHealthResult,
  type PingCheckOptions,
} from './health-indicator.js'
