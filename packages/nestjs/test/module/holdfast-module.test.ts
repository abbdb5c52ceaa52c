/** The modules: how they get their store, whom they serve, and how they end. */
import {
  Global,
  Inject,
  Injectable,
  Logger,
  Module,
  type DynamicModule,
  type ModuleMetadata,
  type OnApplicationShutdown,
} from '@nestjs/common'
import { Test, type TestingModule } from '@nestjs/testing'
import {
  getLocksToken,
  HoldfastModule,
  HoldfastTestingModule,
  InjectLocks,
  Locked,
  type HoldfastModuleAsyncOptions,
  type HoldfastOptions,
  type HoldfastOptionsFactory,
} from '@holdfast/nestjs'
import { isLockError, LockUsageError, type Locks, type Store } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { testingStore, VirtualClock, type TestingStore } from 'holdfast/testing'
import { describe, expect, test, vi } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { gate } from '../app.js'

async function start(metadata: ModuleMetadata): Promise<TestingModule> {
  const module = await Test.createTestingModule(metadata)
    .setLogger(false as never)
    .compile()
  await module.init()
  after(() => module.close())
  return module
}

function locksOf(app: TestingModule, name?: string): Locks {
  return app.get<Locks>(getLocksToken(name), { strict: false })
}

@Injectable()
class Job {
  readonly locks: Locks

  constructor(@InjectLocks() locks: Locks) {
    this.locks = locks
  }

  @Locked('job', { onBusy: 'skip' })
  async work(): Promise<string> {
    return 'done'
  }
}

@Module({ providers: [Job] })
class JobModule {}

describe('forRoot', () => {
  test('serves all modules, with the options of createLocks', async () => {
    const options = { store: memoryStore(), namespace: 'shop', waitMs: 10, ttlMs: 1_000 }
    const app = await start({ imports: [HoldfastModule.forRoot(options), JobModule] })
    const { locks } = app.get(Job, { strict: false })
    expect(locks).toBe(locksOf(app))
    expect(locks.mutex('a').name).toBe('shop:a')
    await locks.mutex('job').acquire()
    await expect(locks.mutex('job').acquire()).rejects.toMatchObject({ waitMs: 10 })
    expect(await app.get(Job, { strict: false }).work()).toBeUndefined()
  })

  test('serves only those that import it with isGlobal: false', async () => {
    const own = HoldfastModule.forRoot({ store: memoryStore(), isGlobal: false })
    @Module({ imports: [own], providers: [Job] })
    class Inside {}
    const app = await start({ imports: [Inside] })
    expect(await app.get(Job, { strict: false }).work()).toBe('done')
    await expect(start({ imports: [own, JobModule] })).rejects.toThrow(/locks of HoldfastModule/)
  })

  test('gives clients by name', async () => {
    @Injectable()
    class Reports {
      @Locked('job', { client: 'reports', onBusy: 'skip' })
      async work(): Promise<string> {
        return 'reported'
      }
    }
    const reports = memoryStore()
    const app = await start({
      imports: [
        HoldfastModule.forRoot({ store: memoryStore() }),
        HoldfastModule.forRoot({ store: reports, name: 'reports' }),
      ],
      providers: [Job, Reports],
    })
    await locksOf(app, 'reports').mutex('job').acquire()
    expect(locksOf(app, 'reports').store).toBe(reports)
    expect(await app.get(Job).work()).toBe('done')
    expect(await app.get(Reports).work()).toBeUndefined()
  })

  test('refuses options that createLocks refuses', async () => {
    const options = { store: memoryStore(), ttl: 5 }
    await expect(start({ imports: [HoldfastModule.forRoot(options)] })).rejects.toThrow(
      /no option "ttl" for createLocks/,
    )
  })
})

describe('forRootAsync', () => {
  const STORE = Symbol('store')

  @Module({ providers: [{ provide: STORE, useFactory: () => memoryStore() }], exports: [STORE] })
  class StoreModule {}

  @Injectable()
  class Maker implements HoldfastOptionsFactory {
    readonly store: Store

    constructor(@Inject(STORE) store: Store) {
      this.store = store
    }

    createHoldfastOptions(): HoldfastOptions {
      return { store: this.store, namespace: 'made' }
    }
  }

  @Module({ imports: [StoreModule], providers: [Maker], exports: [Maker] })
  class MakerModule {}

  const imports = [StoreModule]
  const ways: [string, HoldfastModuleAsyncOptions][] = [
    [
      'useFactory',
      {
        imports,
        inject: [STORE],
        useFactory: async (store: Store) => ({ store, namespace: 'made' }),
      },
    ],
    ['useClass', { imports, useClass: Maker }],
    ['useExisting', { imports: [MakerModule], useExisting: Maker }],
  ]

  test.each(ways)('%s', async (_, options) => {
    const app = await start({ imports: [HoldfastModule.forRootAsync(options), JobModule] })
    expect(await app.get(Job, { strict: false }).work()).toBe('done')
    expect(locksOf(app).mutex('a').name).toBe('made:a')
  })

  test('none of them, and two of them, are refused', () => {
    const both = { useClass: Maker, useExisting: Maker }
    expect(() => HoldfastModule.forRootAsync({})).toThrow(/takes one of .* not 0 of them/)
    expect(() => HoldfastModule.forRootAsync(both)).toThrow(/takes one of .* not 2 of them/)
    expect(() => HoldfastModule.forRootAsync({})).toThrow(LockUsageError)
  })
})

interface Modules {
  readonly client: DynamicModule
  readonly holdfast: DynamicModule
  readonly store: TestingStore
  readonly clock: VirtualClock
}

/** Modules that close their client at the end, as those of a Redis client do. */
function clientModules(): Modules {
  const clock = new VirtualClock()
  const store = testingStore({ clock })
  class Client implements OnApplicationShutdown {
    onApplicationShutdown(): void {
      store.fail()
    }
  }
  @Global()
  @Module({})
  class ClientModule {}
  const holdfast = HoldfastModule.forRootAsync({
    inject: [Client],
    useFactory: () => ({ store, clock }),
  })
  const client = { module: ClientModule, providers: [Client], exports: [Client] }
  return { client, holdfast, store, clock }
}

describe('the end of the application', () => {
  @Injectable()
  class Work {
    readonly begun = gate()
    readonly hold = gate()

    @Locked('work')
    async work(): Promise<string> {
      this.begun.open()
      await this.hold.opened
      return 'done'
    }
  }

  test('waits for methods under locks, and frees their locks', async () => {
    const store = testingStore()
    const app = await start({ imports: [HoldfastModule.forRoot({ store })], providers: [Work] })
    const work = app.get(Work)
    const done = work.work()
    await work.begun.opened
    const closed = app.close()
    work.hold.open()
    expect(await done).toBe('done')
    await closed
    expect(await store.elsewhere.mutex('work').tryAcquire()).toBeDefined()
  })

  test('leaves the lock of a method that takes longer than closeGraceMs', async () => {
    const clock = new VirtualClock()
    const store = testingStore({ clock })
    const module = HoldfastModule.forRoot({ store, clock, closeGraceMs: 20 })
    const app = await start({ imports: [module], providers: [Work] })
    const work = app.get(Work)
    const done = work.work()
    await work.begun.opened
    const closed = app.close()
    await clock.until(closed, 1_000)
    expect(await store.elsewhere.mutex('work').tryAcquire()).toBeUndefined()
    work.hold.open()
    await done.catch((error: unknown) => isLockError(error))
  })

  test('comes before the end of a global module that is imported first', async () => {
    const { client, holdfast, store, clock } = clientModules()
    const warned = vi.spyOn(Logger.prototype, 'warn').mockReturnValue()
    after(() => warned.mockRestore())
    const app = await start({ imports: [client, holdfast] })
    await locksOf(app).mutex('a').acquire()
    await clock.until(app.close())
    store.heal()
    expect(await store.elsewhere.mutex('a').tryAcquire()).toBeDefined()
    expect(warned).not.toHaveBeenCalled()
  })

  test('warns when the client of the store was closed before', async () => {
    const { client, holdfast, store, clock } = clientModules()
    const warned = vi.spyOn(Logger.prototype, 'warn').mockReturnValue()
    after(() => warned.mockRestore())
    const app = await start({ imports: [holdfast, client] })
    await locksOf(app).mutex('a').acquire()
    await clock.until(app.close())
    store.heal()
    expect(await store.elsewhere.mutex('a').tryAcquire()).toBeUndefined()
    expect(warned).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('make it global and import it before HoldfastModule'),
    )
  })
})

describe('HoldfastTestingModule', () => {
  test('needs no options, and each application has locks of its own', async () => {
    const imports = [HoldfastTestingModule, JobModule]
    const [one, other] = await Promise.all([start({ imports }), start({ imports })])
    await locksOf(one).mutex('job').acquire()
    expect(await one.get(Job, { strict: false }).work()).toBeUndefined()
    expect(await other.get(Job, { strict: false }).work()).toBe('done')
    expect(locksOf(one).store).toHaveProperty('elsewhere')
    await one.close()
    expect(await other.get(Job, { strict: false }).work()).toBe('done')
  })

  test('takes the options of the module and a store that the test directs', async () => {
    const store = testingStore()
    const module = HoldfastTestingModule.forRoot({ store, namespace: 'shop' })
    const app = await start({ imports: [module, JobModule] })
    await store.elsewhere.mutex('shop:job').acquire()
    expect(await app.get(Job, { strict: false }).work()).toBeUndefined()
  })
})
