/** `HoldfastTestingModule`: locks in memory for the tests of an application. */
import { Module, type DynamicModule } from '@nestjs/common'
import type { Store } from 'holdfast'
import { testingStore } from 'holdfast/testing'
import { HoldfastModule } from './holdfast-module.js'
import type { HoldfastModuleOptions, HoldfastOptions } from './options.js'

/** The options of `HoldfastTestingModule.forRoot`: those of the module. */
export interface HoldfastTestingModuleOptions extends Omit<HoldfastModuleOptions, 'store'> {
  /** Default: a new `testingStore()` of `holdfast/testing`. */
  readonly store?: Store | undefined
}

/**
 * Stands in for `HoldfastModule` in tests: the decorators work, and the locks are in memory.
 * `testingStore()` lets a test make a lock busy, lose a lease, or fail.
 *
 * @example
 * const store = testingStore()
 * const app = await Test.createTestingModule({
 *   imports: [HoldfastTestingModule.forRoot({ store }), PaymentsModule],
 * }).compile()
 */
@Module({ imports: [HoldfastModule.forRootAsync({ useFactory: testingOptions })] })
export class HoldfastTestingModule {
  /** Makes locks in memory, with options of the module or a store that the test directs. */
  static forRoot(options: HoldfastTestingModuleOptions = {}): DynamicModule {
    const { store = testingStore(), ...rest } = options
    return HoldfastModule.forRoot({ ...rest, store })
  }
}

/** Each application has a store of its own: the end of an application closes it. */
function testingOptions(): HoldfastOptions {
  return { store: testingStore() }
}
