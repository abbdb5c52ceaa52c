/** `@OncePerTick` beside `@Cron`: each run that was due takes place once. */
import { Injectable } from '@nestjs/common'
import { Cron, CronExpression, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule'
import { HoldfastTestingModule, OncePerTick } from '@holdfast/nestjs'
import { testingStore, type TestingStore } from 'holdfast/testing'
import { Test } from '@nestjs/testing'
import { CronJob } from 'cron'
import { expect, test, vi } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { gate, startApp } from '../app.js'

const SLOT = /@tick:(.*)$/

/** `cron` refuses a date that has passed. */
const SOON = new Date(Date.now() + 60_000)

@Injectable()
class Jobs {
  readonly runs: string[] = []

  @OncePerTick({ atLeastMs: 60_000 })
  @Cron(CronExpression.EVERY_SECOND, { name: 'named' })
  async above(): Promise<void> {
    this.runs.push('above')
  }

  @Cron(CronExpression.EVERY_SECOND)
  @OncePerTick({ atLeastMs: 60_000, overlap: 'queue' })
  async below(): Promise<void> {
    this.runs.push('below')
  }

  @Cron('0 0 1 1 *', { name: 'new year', timeZone: 'Asia/Tokyo' })
  @OncePerTick({ atLeastMs: 60_000 })
  async newYear(): Promise<string> {
    return 'happy'
  }

  @Cron('0 0 1 1 *', { timeZone: 'Asia/Tokyo' })
  @OncePerTick({ atLeastMs: 400 * 86_400_000 })
  async yearly(): Promise<string> {
    return 'happy'
  }

  @Cron(SOON)
  @OncePerTick({ atLeastMs: 60_000 })
  async once(): Promise<string> {
    return 'once'
  }

  /** In another zone than `yearly`, whose job has no name either. */
  @Cron('0 0 1 1 *', { utcOffset: -60 })
  @OncePerTick({ atLeastMs: 400 * 86_400_000 })
  async westward(): Promise<string> {
    return 'happy'
  }
}

async function start(store: TestingStore): Promise<Jobs> {
  const testing = await Test.createTestingModule({
    imports: [HoldfastTestingModule.forRoot({ store }), ScheduleModule.forRoot()],
    providers: [Jobs],
  })
    .setLogger(false as never)
    .compile()
  await testing.init()
  after(() => testing.close())
  return testing.get(Jobs)
}

async function slotsOf(store: TestingStore, method: string): Promise<string[]> {
  const { locks } = await store.elsewhere.inspect({ prefix: `Jobs.${method}@tick:` })
  return locks.map(({ lock }) => SLOT.exec(lock)?.[1] ?? '')
}

test.each(['above', 'below'])('@OncePerTick %s @Cron runs each slot once', async (method) => {
  const store = testingStore()
  const jobs = await Promise.all([start(store), start(store), start(store)])
  const ran = (): number => jobs.flatMap(({ runs }) => runs).filter((one) => one === method).length
  await expect.poll(ran).toBeGreaterThan(2)
  const slots = await slotsOf(store, method)
  // The run of the last slot may be on its way.
  expect(slots.length - ran()).toBeLessThanOrEqual(1)
  expect(ran()).toBeLessThanOrEqual(slots.length)
})

class LongJob {
  readonly begun = gate()
  readonly ended = gate()
  runs = 0

  /** The first run takes as long as the test wants. */
  protected async work(): Promise<void> {
    this.runs += 1
    if (this.runs > 1) return
    this.begun.open()
    await this.ended.opened
  }
}

@Injectable()
class Skipping extends LongJob {
  @Cron(CronExpression.EVERY_SECOND)
  @OncePerTick({ atLeastMs: 60_000, name: 'long' })
  run(): Promise<void> {
    return this.work()
  }
}

@Injectable()
class Queueing extends LongJob {
  @Cron(CronExpression.EVERY_SECOND)
  @OncePerTick({ atLeastMs: 60_000, name: 'long', overlap: 'queue' })
  run(): Promise<void> {
    return this.work()
  }
}

test.each([
  ['skipped', Skipping, 0],
  ['queued', Queueing, 1],
] as const)('the next slot is %s while the last run works', async (_, Job, waiting) => {
  const { get, store } = await startApp({ imports: [ScheduleModule.forRoot()], providers: [Job] })
  const job = get<LongJob>(Job)
  await job.begun.opened
  const slots = async (): Promise<number> =>
    (await store.elsewhere.inspect({ prefix: 'long@tick:' })).locks.length
  await expect.poll(slots, { timeout: 10_000 }).toBeGreaterThan(1)
  expect(job.runs).toBe(1)
  const { waiters } = await store.elsewhere.mutex('long').inspect()
  expect(Math.min(waiters.length, 1)).toBe(waiting)
  const taken = await slots()
  job.ended.open()
  await expect.poll(() => job.runs, { timeout: 10_000 }).toBeGreaterThan(waiting ? taken - 1 : 1)
  // What was skipped never runs.
  if (!waiting) expect((await slots()) - job.runs).toBeGreaterThanOrEqual(taken - 1)
})

test('the slot is in the time zone of the job', async () => {
  const store = testingStore()
  const jobs = await start(store)
  expect(await jobs.yearly()).toBe('happy')
  expect(await jobs.westward()).toBe('happy')
  expect((await slotsOf(store, 'yearly'))[0]).toMatch(/^\d{4}-12-31T15:00:00/)
  expect((await slotsOf(store, 'westward'))[0]).toMatch(/^\d{4}-01-01T01:00:00/)
})

test('the slot of a job at a date is that date', async () => {
  const store = testingStore()
  const jobs = await start(store)
  expect(await jobs.once()).toBe('once')
  expect((await slotsOf(store, 'once')).map((slot) => new Date(slot))).toEqual([SOON])
})

test('a run that is due while its job starts has the slot of the others', async () => {
  const store = testingStore()
  const begin = CronJob.prototype.start
  const starts = vi.spyOn(CronJob.prototype, 'start').mockImplementation(function (this: CronJob) {
    begin.call(this)
    void this.fireOnTick()
  })
  try {
    await Promise.all([start(store), start(store)])
  } finally {
    starts.mockRestore()
  }
  await expect.poll(() => slotsOf(store, 'westward')).toHaveLength(1)
})

test('a call by hand, long after a run was due, does not run', async () => {
  const jobs = await start(testingStore())
  expect(await jobs.newYear()).toBeUndefined()
})

test('without the schedule of the application a call runs', async () => {
  const { get } = await startApp({ providers: [Jobs] })
  expect(await get(Jobs).newYear()).toBe('happy')
  expect(await get(Jobs).newYear()).toBeUndefined()
})

test('a job that was taken out of the schedule runs without a slot', async () => {
  const { get } = await startApp({ imports: [ScheduleModule.forRoot()], providers: [Jobs] })
  get(SchedulerRegistry).deleteCronJob('new year')
  expect(await get(Jobs).newYear()).toBe('happy')
})
