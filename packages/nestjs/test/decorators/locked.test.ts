/** `@Locked` on methods of providers. */
import { Injectable, Scope, type Type } from '@nestjs/common'
import { ContextIdFactory } from '@nestjs/core'
import { InjectLocks, Locked, type LockedOptions } from '@holdfast/nestjs'
import { LockUsageError, type Lease, type Locks } from 'holdfast'
import { planFor } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { gate, startApp, type App } from '../app.js'

@Injectable()
class Payments {
  running = 0
  most = 0
  readonly #locks: Locks

  constructor(@InjectLocks() locks: Locks) {
    this.#locks = locks
  }

  @Locked((order: string) => `order:${order}`)
  async ship(order: string, _by = 'post'): Promise<Lease | undefined> {
    this.running += 1
    this.most = Math.max(this.most, this.running)
    await new Promise((resolve) => setTimeout(resolve, 5))
    this.running -= 1
    return this.#locks.current(`order:${order}`)
  }

  @Locked((from: string, to: string) => [from, to])
  async transfer(from: string, to: string): Promise<boolean[]> {
    return [from, to].map((name) => this.#locks.current(name)?.held === true)
  }

  @Locked('one')
  async fail(): Promise<never> {
    throw new TypeError('no stock')
  }

  @Locked(function (this: Payments) {
    return this.constructor.name
  })
  async ofItself(): Promise<boolean> {
    return this.#locks.current('Payments')?.held === true
  }

  @Locked(() => [])
  async nameless(): Promise<void> {}
}

async function payments(): Promise<App & { readonly payments: Payments }> {
  const app = await startApp({ providers: [Payments] })
  return { ...app, payments: app.get(Payments) }
}

test('calls for one key run one after the other, under a lease', async () => {
  const { payments: shop } = await payments()
  const leases = await Promise.all([shop.ship('7'), shop.ship('7', 'boat'), shop.ship('7')])
  expect(shop.most).toBe(1)
  expect(leases.map((lease) => lease?.name)).toEqual(['order:7', 'order:7', 'order:7'])
})

test('calls for other keys run beside each other', async () => {
  const { payments: shop } = await payments()
  await Promise.all([shop.ship('7'), shop.ship('8')])
  expect(shop.most).toBe(2)
})

test('several keys are taken together, and a repeated one once', async () => {
  const { payments: shop } = await payments()
  expect(await shop.transfer('a', 'b')).toEqual([true, true])
  expect(await shop.transfer('a', 'a')).toEqual([true, true])
})

test('crossing transfers do not wait for each other forever', async () => {
  const { payments: shop } = await payments()
  const crossing = [shop.transfer('a', 'b'), shop.transfer('b', 'a')]
  expect(await Promise.all(crossing)).toEqual([
    [true, true],
    [true, true],
  ])
})

test('an error of the method is passed on, and the lock is free after it', async () => {
  const { payments: shop, locks } = await payments()
  await expect(shop.fail()).rejects.toThrow(new TypeError('no stock'))
  expect(await locks.mutex('one').tryAcquire()).toBeDefined()
})

test('the function of the key is called on the instance', async () => {
  const { payments: shop } = await payments()
  expect(await shop.ofItself()).toBe(true)
})

test('a decorated method keeps its name and length', () => {
  expect([Payments.prototype.transfer.name, Payments.prototype.transfer.length]).toEqual([
    'transfer',
    2,
  ])
})

test('a key without a name is refused', async () => {
  const { payments: shop } = await payments()
  await expect(shop.nameless()).rejects.toThrow(
    '@Locked of Payments.nameless got no name of a lock from its key.',
  )
})

describe('a busy lock', () => {
  @Injectable()
  class Jobs {
    calls = 0
    readonly prefix = 'job'

    @Locked('job', { onBusy: 'wait', waitMs: 20 })
    async waits(): Promise<number> {
      return (this.calls += 1)
    }

    @Locked('job', { onBusy: 'throw' })
    async throws(): Promise<number> {
      return (this.calls += 1)
    }

    @Locked('job', { onBusy: 'skip' })
    async skips(): Promise<number> {
      return (this.calls += 1)
    }

    @Locked('job', { onBusy: 'skip', waitMs: 50 })
    async skipsSoon(): Promise<number> {
      return (this.calls += 1)
    }

    @Locked('job', { onBusy: 'skip', waitMs: 10_000 })
    async skipsLate(): Promise<number> {
      return (this.calls += 1)
    }

    @Locked('job', {
      onBusy(this: Jobs, busy, id: string) {
        return `${this.prefix} ${id}: ${busy.code}`
      },
    })
    async asks(_id: string): Promise<unknown> {
      return (this.calls += 1)
    }

    @Locked('inner', { onBusy: 'skip' })
    async callsBusy(): Promise<number> {
      return this.throws()
    }
  }

  async function busyJobs(): Promise<{ jobs: Jobs; other: Lease; app: App }> {
    const app = await startApp({ providers: [Jobs] }, { waitMs: 60_000 })
    const other = await app.store.elsewhere.mutex('job').acquire()
    return { jobs: app.get(Jobs), other, app }
  }

  test('rejects after waitMs', async () => {
    const { jobs } = await busyJobs()
    await expect(jobs.waits()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', waitMs: 20 })
  })

  test('rejects at once with throw', async () => {
    const { jobs } = await busyJobs()
    await expect(jobs.throws()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', waitMs: 0 })
  })

  test('resolves to undefined with skip, and the method does not run', async () => {
    const { jobs } = await busyJobs()
    expect(await jobs.skips()).toBeUndefined()
    expect(jobs.calls).toBe(0)
  })

  test('is waited for with skip and waitMs', async () => {
    const { jobs, other } = await busyJobs()
    const late = jobs.skipsLate()
    await other.release()
    expect(await late).toBe(1)
  })

  test('gives what the function returns, with the error, the arguments and the instance', async () => {
    const { jobs } = await busyJobs()
    expect(await jobs.asks('7')).toBe('job 7: LOCK_TIMEOUT')
  })

  test('of a call inside of the method is no busy lock of the method', async () => {
    const { jobs } = await busyJobs()
    await expect(jobs.callsBusy()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', lock: 'job' })
  })

  test('is not what a store is that does not answer', async () => {
    const { jobs, app } = await busyJobs()
    app.store.plan = planFor({ attempt: { drop: 'request' } })
    await expect(jobs.skipsSoon()).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      isAnswered: false,
    })
    app.store.heal()
  })

  test('is not what a store is that is away', async () => {
    const { jobs, app } = await busyJobs()
    const end = app.store.fail()
    await expect(jobs.skips()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    end()
  })
})

describe('kinds of locks', () => {
  @Injectable()
  class Config {
    running = 0
    most = 0

    @Locked('config', { mode: 'read' })
    read(hold: Promise<void>): Promise<void> {
      return this.#work(hold)
    }

    @Locked('config', { mode: 'write', onBusy: 'throw' })
    write(hold: Promise<void>): Promise<void> {
      return this.#work(hold)
    }

    @Locked('resize', { permits: 2, onBusy: 'throw' })
    resize(hold: Promise<void>): Promise<void> {
      return this.#work(hold)
    }

    @Locked(['a', 'b'], { permits: 2 })
    both(hold: Promise<void>): Promise<void> {
      return this.#work(hold)
    }

    async #work(hold: Promise<void>): Promise<void> {
      this.running += 1
      this.most = Math.max(this.most, this.running)
      await hold
      this.running -= 1
    }
  }

  test('readers run beside each other, and a writer does not', async () => {
    const config = (await startApp({ providers: [Config] })).get(Config)
    const { opened, open } = gate()
    const readers = [config.read(opened), config.read(opened)]
    await expect.poll(() => config.most).toBe(2)
    await expect(config.write(opened)).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    open()
    await Promise.all(readers)
    await config.write(opened)
  })

  test('as many calls run as there are permits', async () => {
    const config = (await startApp({ providers: [Config] })).get(Config)
    const { opened, open } = gate()
    const holders = [config.resize(opened), config.resize(opened)]
    await expect.poll(() => config.most).toBe(2)
    await expect(config.resize(opened)).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    open()
    await Promise.all(holders)
  })

  test('several semaphores give a permit each', async () => {
    const config = (await startApp({ providers: [Config] })).get(Config)
    const { opened, open } = gate()
    const holders = [config.both(opened), config.both(opened)]
    await expect.poll(() => config.most).toBe(2)
    open()
    await Promise.all(holders)
  })
})

test('a ttlMs of its own ends a lease that is not renewed', async () => {
  @Injectable()
  class Slow {
    readonly begun = gate()

    @Locked('slow', { ttlMs: 300 })
    async work(hold: Promise<void>): Promise<void> {
      this.begun.open()
      await hold
    }
  }
  const { store, get } = await startApp({ providers: [Slow] })
  const deliver = store.stallRenewals()
  const { opened, open } = gate()
  const work = get(Slow).work(opened)
  await get(Slow).begun.opened
  const next = await store.elsewhere.mutex('slow').acquire({ waitMs: 5_000 })
  deliver()
  open()
  await expect(work).rejects.toMatchObject({ code: 'LOCK_LOST' })
  await next.release()
})

test('each instance of a request has the locks', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest {
    @Locked('request')
    async instance(): Promise<PerRequest> {
      return this
    }
  }
  const { app } = await startApp({ providers: [PerRequest] })
  const made = await Promise.all(
    [1, 2].map(() => app.resolve(PerRequest, ContextIdFactory.create())),
  )
  const seen = await Promise.all(made.map((instance) => instance.instance()))
  expect(seen).toEqual(made)
  expect(new Set(seen).size).toBe(2)
})

test('a subclass has the locks of its base class, and its own', async () => {
  @Injectable()
  class Base {
    @Locked('base')
    async base(): Promise<string> {
      return 'base'
    }
  }
  @Injectable()
  class Derived extends Base {
    override async base(): Promise<string> {
      return `derived ${await super.base()}`
    }

    @Locked('own')
    async own(): Promise<string> {
      return 'own'
    }
  }
  @Injectable()
  class Other extends Base {}
  const { get } = await startApp({ providers: [Derived, Other] })
  expect(await get(Derived).base()).toBe('derived base')
  expect(await get(Derived).own()).toBe('own')
  expect(await get(Other).base()).toBe('base')
})

test('two applications of one class have locks of their own', async () => {
  @Injectable()
  class Job {
    @Locked('job', { onBusy: 'skip' })
    async work(hold: Promise<void>): Promise<string> {
      await hold
      return 'done'
    }
  }
  const [one, other] = await Promise.all([
    startApp({ providers: [Job] }),
    startApp({ providers: [Job] }),
  ])
  const { opened, open } = gate()
  const work = [one.get(Job).work(opened), other.get(Job).work(opened)]
  await expect.poll(async () => (await one.locks.inspect()).locks.length).toBe(1)
  expect(await one.get(Job).work(opened)).toBeUndefined()
  open()
  expect(await Promise.all(work)).toEqual(['done', 'done'])
})

describe('without the module', () => {
  class Lone {
    @Locked('lone')
    async work(): Promise<void> {}

    @Locked('lone', { client: 'reports' })
    async report(): Promise<void> {}
  }

  test('a call names HoldfastModule', async () => {
    const { Test } = await import('@nestjs/testing')
    const app = await Test.createTestingModule({ providers: [Lone] }).compile()
    const lone = app.get(Lone)
    await expect(lone.work()).rejects.toThrow(
      '@Locked of Lone.work has no locks: import HoldfastModule.forRoot({ store }) of @holdfast/nestjs',
    )
    await expect(lone.work()).rejects.toBeInstanceOf(LockUsageError)
    await app.close()
  })

  test('a call for another client states the name', async () => {
    const { get } = await startApp({ providers: [Lone] })
    await get(Lone).work()
    await expect(get(Lone).report()).rejects.toThrow(
      'HoldfastModule.forRoot({ name: "reports", store })',
    )
  })

  test('a call on an instance that Nest did not make names it too', async () => {
    await expect(new Lone().work()).rejects.toThrow('HoldfastModule')
    const { work } = new Lone()
    await expect(work()).rejects.toThrow('HoldfastModule')
  })
})

function decorate(key: unknown, options?: unknown): Type {
  class Any {
    @Locked(key as string, options as LockedOptions<[]>)
    async work(): Promise<void> {}
  }
  return Any
}

describe('options that make no sense are refused when the class is loaded', () => {
  test.each([
    ['a key', [42], /key of @Locked must be a name, names, or a function/],
    ['an unknown option', ['a', { timeout: 5 }], /no option "timeout" for @Locked/],
    ['a wait', ['a', { waitMs: -1 }], /waitMs must be at least 0 ms/],
    ['a TTL', ['a', { ttlMs: '5s' }], /ttlMs must be a number of milliseconds/],
    ['a mode', ['a', { mode: 'both' }], /mode of @Locked must be 'read' or 'write'/],
    ['permits', ['a', { permits: 0 }], /permits must be a whole number from 1 on/],
    ['mode and permits', ['a', { mode: 'read', permits: 2 }], /takes mode or permits/],
    ['onBusy', ['a', { onBusy: 'return' }], /onBusy of @Locked must be 'wait', 'skip'/],
    ['a client', ['a', { client: '' }], /name of a HoldfastModule must be a string/],
  ])('%s', (_, [key, options], message) => {
    expect(() => decorate(key, options)).toThrow(message)
    expect(() => decorate(key, options)).toThrow(LockUsageError)
  })

  test('a static method, and what is no method', () => {
    const decorator = Locked('a')
    class Any {
      readonly field = 1
      static async work(): Promise<void> {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Any, 'work') as TypedPropertyDescriptor<
      () => Promise<void>
    >
    expect(() => decorator(Any, 'work', descriptor)).toThrow(/Any.work is static/)
    const property = {} as TypedPropertyDescriptor<() => Promise<void>>
    expect(() => decorator(Any.prototype, 'field', property)).toThrow(/Any.field is none/)
  })

  test('a decorator of the standard says which setting is missing', () => {
    const standard = Locked('a') as unknown as (method: object, context: object) => void
    expect(() => standard(async () => {}, { kind: 'method', name: 'work' })).toThrow(
      /set experimentalDecorators in tsconfig.json/,
    )
  })
})
