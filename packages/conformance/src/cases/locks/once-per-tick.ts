/** Runs of a schedule: each slot once, and one run at a time. */
import assert from 'node:assert/strict'
import { LockLostError, type Lease, type Locks, type TickOptions, type TickResult } from 'holdfast'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { expectError } from '../../expect.js'
import { keeps, mustNotRun, queue } from '../../needs.js'

export const oncePerTick = new Group('once per tick', [keeps])

/** The time between two slots. */
const PERIOD_MS = 1_000

/** A schedule with slots at each second, as several replicas see it. */
class Schedule {
  readonly #context: Context
  readonly #firstMs: number
  readonly atLeastMs: number

  constructor(context: Context, atLeastMs = 10_000) {
    this.#context = context
    this.#firstMs = context.time.clock.wallMs()
    this.atLeastMs = atLeastMs
  }

  slot(number: number): Date {
    return new Date(this.#firstMs + number * PERIOD_MS)
  }

  /** Returns the name of the lock of a slot. */
  lock(number: number): string {
    const time = this.slot(number).toISOString().replace('.000Z', 'Z')
    return `${this.#context.name()}@tick:${time}`
  }

  run<T>(
    locks: Locks,
    number: number,
    work: (lease: Lease) => T | PromiseLike<T>,
    options: Partial<TickOptions> = {},
  ): Promise<TickResult<T>> {
    const { atLeastMs } = this
    const terms = { slot: this.slot(number), atLeastMs, ...options }
    return locks.oncePerTick(this.#context.name(), work, terms)
  }
}

/** A TTL with time for its renewals, also on a busy machine. */
function renewedMs(context: Context): number {
  return Math.max(2_400, context.shortMs)
}

interface Running {
  readonly lease: Lease
  readonly run: Promise<TickResult<string>>
  readonly end: () => void
}

/** Starts the run of the first slot, which works until `end` is called. */
async function running(
  context: Context,
  schedule: Schedule,
  locks: Locks,
  options?: Partial<TickOptions>,
): Promise<Running> {
  let run: Promise<TickResult<string>> | undefined
  const begun = new Promise<Omit<Running, 'run'>>((resolve, reject) => {
    const work = (lease: Lease): Promise<string> =>
      new Promise((done) => resolve({ lease, end: () => done('first') }))
    run = context.later(schedule.run(locks, 0, work, options))
    run.catch(reject)
  })
  const { lease, end } = await context.soon(begun, 'the first run')
  return { lease, end, run: run as Promise<TickResult<string>> }
}

function assertNotRun(result: TickResult<unknown>, reason: string): void {
  assert.ok(!result.ran)
  assert.equal(result.reason, reason)
  assert.equal(result.holder?.owner.pid, reason === 'late' ? undefined : process.pid)
}

oncePerTick.test('a slot runs on one of two replicas, and the next one too', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const schedule = new Schedule(context)
  const first = await context.soon(schedule.run(one, 0, ({ held, token }) => held && token))
  assert.ok(first.ran && typeof first.value === 'bigint')
  assertNotRun(await context.soon(schedule.run(two, 0, mustNotRun)), 'taken')
  assertNotRun(await context.soon(schedule.run(one, 0, mustNotRun)), 'taken')
  const second = await context.soon(schedule.run(two, 1, ({ token }) => token))
  assert.ok(second.ran && second.value > first.value)
})

oncePerTick.test('a slot never runs again, however late a replica is', async (context) => {
  const { clock } = context.time
  const [one, two] = [await context.locks(), await context.locks()]
  const schedule = new Schedule(context, Math.max(3_000, context.shortMs))
  assert.ok((await schedule.run(one, 0, () => undefined)).ran)
  await one.close()
  const lateMs = schedule.slot(0).getTime() + schedule.atLeastMs
  while (clock.wallMs() <= lateMs) {
    assert.equal((await context.soon(schedule.run(two, 0, mustNotRun))).ran, false)
    await context.time.pass(100)
  }
  assertNotRun(await schedule.run(two, 0, mustNotRun), 'late')
})

oncePerTick.test('the next slot is skipped while the last run works', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const schedule = new Schedule(context)
  const { run, end } = await running(context, schedule, one)
  assertNotRun(await context.soon(schedule.run(two, 1, mustNotRun)), 'still-running')
  end()
  assert.deepEqual(await context.soon(run), { ran: true, value: 'first' })
  // It was skipped for all replicas.
  assertNotRun(await context.soon(schedule.run(one, 1, mustNotRun)), 'taken')
  const third = await context.soon(schedule.run(two, 2, () => 'third'))
  assert.deepEqual(third, { ran: true, value: 'third' })
})

oncePerTick.test('the next slot waits for the last run if so asked', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const schedule = new Schedule(context)
  const { lease, run, end } = await running(context, schedule, one)
  const next = context.later(schedule.run(two, 1, ({ token }) => token, { overlap: 'queue' }))
  await context.time.eventually('the next slot is taken', context.slackMs, async () => {
    return (await context.inspect(schedule.lock(1)))?.holders.length === 1
  })
  await context.time.pass(200)
  assert.equal(lease.held, true)
  assertNotRun(await context.soon(schedule.run(one, 1, mustNotRun)), 'taken')
  end()
  assert.ok((await context.soon(run)).ran)
  const second = await context.time.within(next, 2_000 + context.slackMs, 'the queued run')
  assert.ok(second.ran && second.value > lease.token)
})

oncePerTick.test(
  'queued slots run in the order in which they came',
  async (context) => {
    const [one, two] = [await context.locks(), await context.locks()]
    const schedule = new Schedule(context)
    const { run, end } = await running(context, schedule, one)
    const order: number[] = []
    const queued: Promise<unknown>[] = []
    for (const number of [1, 2, 3, 4]) {
      const locks = number % 2 === 0 ? one : two
      const work = (): unknown => order.push(number)
      queued.push(context.later(schedule.run(locks, number, work, { overlap: 'queue' })))
      await context.waiters(number)
    }
    end()
    await context.time.within(Promise.all([run, ...queued]), 10_000 + context.slackMs, 'all runs')
    assert.deepEqual(order, [1, 2, 3, 4])
  },
  { needs: [queue] },
)

oncePerTick.test('a run longer than its TTL keeps its lease', async (context) => {
  const [one, two] = [await context.locks({ renew: false }), await context.locks()]
  const schedule = new Schedule(context)
  const ttlMs = renewedMs(context)
  const { lease, run, end } = await running(context, schedule, one, { ttlMs })
  await context.time.pass(1.4 * ttlMs)
  assert.equal(lease.held, true)
  assertNotRun(await context.soon(schedule.run(two, 1, mustNotRun)), 'still-running')
  end()
  assert.ok((await context.soon(run)).ran)
})

oncePerTick.test('a run loses its lease with the lock of its name', async (context) => {
  const [one, two] = [await context.locks(), await context.locks()]
  const schedule = new Schedule(context)
  const { lease, run, end } = await running(context, schedule, one, { ttlMs: renewedMs(context) })
  await two.steal(context.name(), { reason: 'the job hangs', now: true })
  await context.time.eventually('the loss is noticed', renewedMs(context) + context.slackMs, () => {
    return lease.signal.aborted
  })
  end()
  await assert.rejects(context.soon(run), LockLostError)
  assertNotRun(await context.soon(schedule.run(two, 0, mustNotRun)), 'taken')
})

oncePerTick.test('a slot far from the own clock does not run', async (context) => {
  const locks = await context.locks()
  const schedule = new Schedule(context, 2_000)
  assertNotRun(await schedule.run(locks, -3, mustNotRun), 'late')
  await expectError('LOCK_USAGE', () => schedule.run(locks, 60, mustNotRun))
  // Neither took the lock that covers a run.
  assert.ok((await schedule.run(locks, 0, () => undefined)).ran)
})

oncePerTick.test('a slot that makes no sense is refused before it is taken', async (context) => {
  const locks = await context.locks()
  const schedule = new Schedule(context)
  const wrong = ['2027-01-01', NaN, Infinity, new Date(NaN), null] as unknown as Date[]
  for (const slot of wrong)
    await expectError('LOCK_USAGE', () => schedule.run(locks, 0, mustNotRun, { slot }))
  await expectError('LOCK_USAGE', () =>
    schedule.run(locks, 0, mustNotRun, { overlap: 'wait' as 'queue' }),
  )
  await expectError('LOCK_USAGE', () => schedule.run(locks, 0, mustNotRun, { ttlMs: 1 }))
  await expectError('LOCK_USAGE', () =>
    schedule.run(locks, 0, mustNotRun, { slot: undefined, overlap: 'skip' }),
  )
  await locks.mutex(context.name()).run(async () => {
    await expectError('LOCK_USAGE', () => schedule.run(locks, 0, mustNotRun))
  })
  assert.ok((await schedule.run(locks, 0, () => undefined)).ran)
})

oncePerTick.test('no lock of a user has the name of a slot', async (context) => {
  const locks = await context.locks()
  const schedule = new Schedule(context)
  await schedule.run(locks, 0, () => undefined)
  const { locks: found } = await locks.inspect({ prefix: context.name() })
  assert.equal(found.length, 1)
  const name = found[0]?.lock ?? ''
  assert.equal(name, schedule.lock(0))
  await expectError('LOCK_USAGE', () => locks.mutex(name))
  await expectError('LOCK_USAGE', () => locks.semaphore(name, { permits: 2 }))
  await expectError('LOCK_USAGE', () => locks.oncePerTick(name, mustNotRun, { atLeastMs: 1 }))
  assert.equal(locks.mutex(`${name}.`).name, `${name}.`)
  await expectError('LOCK_USAGE', () =>
    locks.oncePerTick('n'.repeat(500), mustNotRun, { slot: 0, atLeastMs: 1 }),
  )
})
