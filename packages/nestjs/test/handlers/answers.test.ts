/** What callers of HTTP, RPC and GraphQL get when a lock is busy or its store is away. */
import { createRequire } from 'node:module'
import { Catch, Controller, Get, Inject, Injectable, type ArgumentsHost } from '@nestjs/common'
import { BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core'
import { Args, GraphQLModule, GraphQLSchemaHost, Mutation, Query, Resolver } from '@nestjs/graphql'
import { ClientProxyFactory, MessagePattern, Transport } from '@nestjs/microservices'
import { Locked } from '@holdfast/nestjs'
import { freePorts } from '@holdfast/servers/ports'
import { firstValueFrom } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { startApp, type App } from '../app.js'
import { PlainDriver } from './plain-driver.js'

/** The copy that Nest loads: the package has another one for `import`. */
const { graphql } = createRequire(import.meta.url)('graphql') as typeof import('graphql')

const BUSY = 'Another request is working on this resource. Try again later.'
const AWAY = 'The lock service is not available. Try again later.'

@Injectable()
class Stock {
  @Locked('stock', { onBusy: 'throw' })
  async take(): Promise<string> {
    return 'taken'
  }
}

@Controller()
class Shop {
  readonly #stock: Stock

  constructor(@Inject(Stock) stock: Stock) {
    this.#stock = stock
  }

  @Get('service')
  service(): Promise<string> {
    return this.#stock.take()
  }

  @Get('handler')
  @Locked('stock', { onBusy: 'throw' })
  async handler(): Promise<string> {
    return 'taken'
  }

  @Locked('stock', { onBusy: 'throw' })
  @MessagePattern('above')
  async above(order: string): Promise<string> {
    return `taken for ${order}`
  }

  @MessagePattern('below')
  @Locked((order: string) => order, { onBusy: 'throw' })
  async below(order: string): Promise<string> {
    return `taken for ${order}`
  }

  @Get('lost')
  @Locked('stock', { ttlMs: 100 })
  async loses(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const SHOP = { providers: [Stock], controllers: [Shop] }

async function makeBusy({ store }: App): Promise<void> {
  const lease = await store.elsewhere.mutex('stock').acquire()
  after(() => lease.release())
}

describe('HTTP', () => {
  test.each(['service', 'handler'])('a busy lock of a %s answers 423', async (path) => {
    const app = await startApp(SHOP, { port: true })
    await makeBusy(app)
    const answer = await app.request(`/${path}`)
    expect(answer.status).toBe(423)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await answer.json()).toEqual({
      statusCode: 423,
      error: 'Locked',
      message: BUSY,
      code: 'LOCK_TIMEOUT',
    })
  })

  test.each(['service', 'handler'])('a store of a %s that is away answers 503', async (path) => {
    const app = await startApp(SHOP, { port: true })
    const end = app.store.fail()
    const answer = await app.request(`/${path}`)
    end()
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBeNull()
    expect(await answer.json()).toMatchObject({ message: AWAY, code: 'STORE_UNAVAILABLE' })
  })

  test('locks that are closed answer 503', async () => {
    const app = await startApp(SHOP, { port: true })
    await app.locks.close()
    const answer = await app.request('/handler')
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'LOCKS_CLOSED' })
  })

  test('a lost lease answers 500, since the method may have worked', async () => {
    const app = await startApp(SHOP, { port: true })
    const deliver = app.store.stallRenewals()
    const answer = app.request('/lost')
    await expect.poll(() => app.store.count('renew')).toBeGreaterThan(0)
    setTimeout(deliver, 150)
    expect((await answer).status).toBe(500)
  })

  test('a filter for all errors sees an HttpException', async () => {
    @Catch()
    class AnyFilter extends BaseExceptionFilter {
      override catch(exception: { getStatus?: () => number }, host: ArgumentsHost): void {
        // oxlint-disable-next-line promise/valid-params -- no promise
        super.catch(exception, host)
        statuses.push(exception.getStatus?.())
      }
    }
    const statuses: unknown[] = []
    const app = await startApp(SHOP, {
      port: true,
      configure: (own) => own.useGlobalFilters(new AnyFilter(own.get(HttpAdapterHost).httpAdapter)),
    })
    await makeBusy(app)
    expect((await app.request('/service')).status).toBe(423)
    expect(statuses).toEqual([423])
  })
})

/** A hybrid application, whose microservice has no global interceptors. */
async function startService(): Promise<App & { send(pattern: string): Promise<unknown> }> {
  const app = await startApp(SHOP)
  const [port = 0] = await freePorts(1)
  const options = { host: '127.0.0.1', port }
  app.app.connectMicroservice({ transport: Transport.TCP, options })
  await app.app.startAllMicroservices()
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options })
  after(() => client.close())
  return { ...app, send: (pattern) => firstValueFrom(client.send(pattern, 'stock')) }
}

describe('RPC', () => {
  test.each(['above', 'below'])('@Locked %s @MessagePattern', async (way) => {
    const app = await startService()
    expect(await app.send(way)).toBe('taken for stock')
    await makeBusy(app)
    const refused = await app.send(way).catch((error: unknown) => error)
    expect(refused).toEqual({
      status: 'error',
      message: BUSY,
      code: 'LOCK_TIMEOUT',
      httpStatus: 423,
    })
  })

  test('a store that is away', async () => {
    const app = await startService()
    const end = app.store.fail()
    const refused = await app.send('above').catch((error: unknown) => error)
    end()
    expect(refused).toMatchObject({ message: AWAY, code: 'STORE_UNAVAILABLE', httpStatus: 503 })
  })
})

/** What the compiler notes with emitDecoratorMetadata, which the bundler of the tests lacks. */
const TakesString = Reflect.metadata('design:paramtypes', [String]) as MethodDecorator

@Resolver()
class StockResolver {
  readonly #stock: Stock

  constructor(@Inject(Stock) stock: Stock) {
    this.#stock = stock
  }

  @Query(() => String)
  service(): Promise<string> {
    return this.#stock.take()
  }

  @Locked('stock', { onBusy: 'throw' })
  @Mutation(() => String)
  @TakesString
  async above(@Args('order', { type: () => String }) order: string): Promise<string> {
    return `taken for ${order}`
  }

  @Mutation(() => String)
  @Locked((order: string) => order, { onBusy: 'throw' })
  @TakesString
  async below(@Args('order', { type: () => String }) order: string): Promise<string> {
    return `taken for ${order}`
  }
}

async function startGraph(): Promise<App & { ask(source: string): Promise<unknown> }> {
  const app = await startApp({
    imports: [GraphQLModule.forRoot({ driver: PlainDriver, autoSchemaFile: true })],
    providers: [Stock, StockResolver],
  })
  const { schema } = app.app.get(GraphQLSchemaHost)
  const ask = async (source: string): Promise<unknown> => {
    const { data, errors } = await graphql({ schema, source, contextValue: {} })
    return errors ? errors.map((error) => error.toJSON()) : data
  }
  return { ...app, ask }
}

describe('GraphQL', () => {
  test.each(['above', 'below'])('@Locked %s @Mutation', async (way) => {
    const app = await startGraph()
    const question = `mutation { answer: ${way}(order: "stock") }`
    expect(await app.ask(question)).toEqual({ answer: 'taken for stock' })
    await makeBusy(app)
    expect(await app.ask(question)).toMatchObject([
      { message: BUSY, extensions: { code: 'LOCK_TIMEOUT', status: 423, retryAfterSeconds: 1 } },
    ])
  })

  test('a service under a query, and a store that is away', async () => {
    const app = await startGraph()
    expect(await app.ask('{ service }')).toEqual({ service: 'taken' })
    const end = app.store.fail()
    const refused = await app.ask('{ service }')
    end()
    expect(refused).toMatchObject([
      { message: AWAY, extensions: { code: 'STORE_UNAVAILABLE', status: 503 } },
    ])
  })
})
