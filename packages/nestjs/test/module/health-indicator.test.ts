/** The health indicator, alone and under Terminus. */
import { Controller, Get, Inject } from '@nestjs/common'
import {
  HealthCheck,
  HealthCheckService,
  TerminusModule,
  type HealthCheckResult,
  type HealthIndicatorResult,
} from '@nestjs/terminus'
import { HoldfastHealthIndicator, HoldfastModule } from '@holdfast/nestjs'
import { memoryStore } from 'holdfast/memory'
import { planFor } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { startApp } from '../app.js'

@Controller('health')
class Health {
  readonly #health: HealthCheckService
  readonly #locks: HoldfastHealthIndicator

  constructor(
    @Inject(HealthCheckService) health: HealthCheckService,
    @Inject(HoldfastHealthIndicator) locks: HoldfastHealthIndicator,
  ) {
    this.#health = health
    this.#locks = locks
  }

  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    return this.#health.check([() => this.#locks.pingCheck('locks')])
  }
}

const TERMINUS = { imports: [TerminusModule.forRoot({ logger: false })], controllers: [Health] }

test('Terminus shows a store that answers', async () => {
  const app = await startApp(TERMINUS, { port: true })
  const answer = await app.request('/health')
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({
    status: 'ok',
    info: { locks: { status: 'up', latencyMs: expect.any(Number) } },
  })
})

test('Terminus shows a store that is away', async () => {
  const app = await startApp(TERMINUS, { port: true })
  const end = app.store.fail()
  const answer = await app.request('/health')
  end()
  expect(answer.status).toBe(503)
  expect(await answer.json()).toMatchObject({
    status: 'error',
    error: { locks: { status: 'down', code: 'STORE_UNAVAILABLE' } },
  })
})

test('a store that does not answer is down after the timeout', async () => {
  const { get, store } = await startApp({})
  store.plan = planFor({ inspect: { drop: 'request' } })
  const result: HealthIndicatorResult<'locks'> = await get(HoldfastHealthIndicator).pingCheck(
    'locks',
    { timeout: 20 },
  )
  expect(result).toEqual({
    locks: { status: 'down', message: 'The memory store did not answer within 20 ms.' },
  })
})

test('a client by name, and one that is missing', async () => {
  const reports = HoldfastModule.forRoot({ store: memoryStore(), name: 'reports' })
  const { get, store } = await startApp({ imports: [reports] })
  const indicator = get(HoldfastHealthIndicator)
  const end = store.fail()
  expect(await indicator.pingCheck('a', { client: 'reports' })).toMatchObject({
    a: { status: 'up' },
  })
  expect(await indicator.pingCheck('a')).toMatchObject({ a: { status: 'down' } })
  end()
  await expect(indicator.pingCheck('a', { client: 'other' })).rejects.toThrow(
    'import HoldfastModule.forRoot({ name: "other", store })',
  )
})

test('options that make no sense are refused', async () => {
  const indicator = (await startApp({})).get(HoldfastHealthIndicator)
  await expect(indicator.pingCheck('a', { timeout: 0 })).rejects.toThrow(
    /timeout must be at least 1/,
  )
  const misspelt = { timeoutMs: 5 } as object
  await expect(indicator.pingCheck('a', misspelt)).rejects.toThrow(/no option "timeoutMs"/)
})
