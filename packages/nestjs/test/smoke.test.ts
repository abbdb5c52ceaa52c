/** One application with each part of the package, for the everyday plan. */
import { Controller, Get, Inject, Injectable, Param } from '@nestjs/common'
import { Cron, ScheduleModule } from '@nestjs/schedule'
import {
  HoldfastHealthIndicator,
  InjectLocks,
  LeaderOnly,
  Locked,
  OncePerTick,
} from '@holdfast/nestjs'
import type { Locks } from 'holdfast'
import { from } from 'rxjs'
import { expect, test } from 'vitest'
import { startApp } from './app.js'

@Controller('orders')
class Orders {
  readonly #locks: Locks
  readonly #health: HoldfastHealthIndicator

  constructor(
    @InjectLocks() locks: Locks,
    @Inject(HoldfastHealthIndicator) health: HoldfastHealthIndicator,
  ) {
    this.#locks = locks
    this.#health = health
  }

  @Locked((id: string) => `order:${id}`, { onBusy: 'throw' })
  @Get('above/:id')
  async above(@Param('id') id: string): Promise<unknown> {
    return this.#locks.current(`order:${id}`)?.held
  }

  @Get('below/:id')
  @Locked((id: string) => `order:${id}`, { onBusy: 'throw' })
  async below(@Param('id') id: string): Promise<unknown> {
    return from([this.#locks.current(`order:${id}`)?.held])
  }

  @Get('desk')
  @LeaderOnly('desk', { otherwise: () => 'elsewhere' })
  async desk(): Promise<string> {
    return 'here'
  }

  @Get('health')
  health(): Promise<unknown> {
    return this.#health.pingCheck('locks')
  }
}

@Injectable()
class Report {
  runs = 0

  @OncePerTick({ atLeastMs: 60_000 })
  @Cron('* * * * * *')
  async send(): Promise<void> {
    this.runs += 1
  }
}

test('handlers, a cron job, a leader, health and the end of an application', async () => {
  const app = await startApp(
    { imports: [ScheduleModule.forRoot()], controllers: [Orders], providers: [Report] },
    { port: true },
  )
  const ask = async (path: string): Promise<unknown> => (await app.request(path)).json()
  expect(await ask('/orders/above/7')).toBe(true)
  expect(await ask('/orders/below/7')).toBe(true)
  expect(await (await app.request('/orders/desk')).text()).toBe('here')
  expect(await ask('/orders/health')).toMatchObject({ locks: { status: 'up' } })
  await expect.poll(() => app.get(Report).runs).toBeGreaterThan(0)
  const slots = await app.store.elsewhere.inspect({ prefix: 'Report.send@tick:' })
  expect(slots.locks[0]?.lock).toMatch(/^Report.send@tick:\d{4}-/)
  const other = await app.store.elsewhere.mutex('order:7').acquire()
  const refused = await app.request('/orders/above/7')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([423, '1'])
  await other.release()
  await app.app.close()
  expect(await app.store.elsewhere.election('desk').leader()).toBeUndefined()
})
