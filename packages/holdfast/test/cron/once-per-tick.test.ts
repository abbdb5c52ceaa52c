/** The wrapper sees the name and the slot of a run in each library. */
import { CronJob } from 'cron'
import { Cron } from 'croner'
import { createLocks, LockUsageError, type Locks } from 'holdfast'
import { oncePerTick, runCoordinator, type CronTickOptions, type SkippedTick } from 'holdfast/cron'
import { memoryStore } from 'holdfast/memory'
import { zookeeperStore } from 'holdfast/zookeeper'
import { createTask } from 'node-cron'
import { Job } from 'node-schedule'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

const DUE = new Date('2027-06-30T03:00:00Z')
const LATE_MS = 18
const DAY_MS = 86_400_000
const PATTERN = '0 3 * * *'

type Callback = ReturnType<typeof oncePerTick>

interface Library {
  /** Makes a job, and calls it as its library does for the run that was due last. */
  call(callback: Callback, name?: string): Promise<unknown>
  /** How an error says that its job gets a name. */
  readonly cure: string
}

/** Returns when a run was due last. */
function lastDue(): Date {
  return new Date(Date.now() - LATE_MS)
}

/** Calls a job of node-schedule as it does itself, with a time that its types do not know. */
async function invoke(job: Job, due?: Date): Promise<void> {
  await Reflect.apply(job.invoke, job, [due])
}

const LIBRARIES: Readonly<Record<string, Library>> = {
  croner: {
    async call(callback, name) {
      const job = new Cron(
        PATTERN,
        { timezone: 'UTC', paused: true, ...(name && { name }) },
        callback,
      )
      await job.trigger().finally(() => job.stop())
    },
    cure: 'new Cron(pattern, { name:',
  },
  cron: {
    call: (onTick, name) =>
      new Promise((resolve, errorHandler) => {
        const terms = { cronTime: PATTERN, timeZone: 'UTC', waitForCompletion: true, errorHandler }
        void CronJob.from({ ...terms, onTick, name: name ?? null })
          .fireOnTick()
          .then(resolve)
      }),
    cure: 'CronJob.from({ name:',
  },
  'node-schedule': {
    async call(callback, name) {
      await invoke(name ? new Job(name, callback) : new Job(callback), lastDue())
    },
    cure: "scheduleJob('report'",
  },
  'node-cron': {
    call: (callback, name) => {
      const task = createTask(PATTERN, () => undefined, { timezone: 'UTC', ...(name && { name }) })
      const context = { date: lastDue(), dateLocalIso: '', triggeredAt: new Date(), task }
      return callback.call(undefined, context)
    },
    cure: "schedule(pattern, …, { name: 'report' })",
  },
}
const EACH = Object.entries(LIBRARIES)

let one: Locks
let two: Locks

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: DUE.getTime() + LATE_MS })
  const store = memoryStore()
  one = createLocks(store)
  two = createLocks(store)
})

afterEach(async () => {
  vi.useRealTimers()
  await Promise.all([one.close(), two.close()])
})

/** A promise that the test settles. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

function mustNotRun(): never {
  throw new Error('the work ran')
}

async function refusal(call: () => unknown): Promise<string> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(LockUsageError)
    return (error as Error).message
  }
  return 'accepted'
}

describe.each(EACH)('%s', (_, { call, cure }) => {
  test('of two replicas one runs, and the other learns why it does not', async () => {
    const runs: unknown[] = []
    const skipped: SkippedTick[] = []
    const options = { atLeastMs: 5_000, onSkip: (tick: SkippedTick) => skipped.push(tick) }
    await call(
      oncePerTick(one, ({ name, held }, slot) => runs.push([name, held, slot]), options),
      'a',
    )
    await call(oncePerTick(two, mustNotRun, options), 'a')
    expect(runs).toEqual([['a', true, DUE]])
    expect(skipped).toMatchObject([{ name: 'a', slot: DUE, reason: 'taken' }])
    expect(skipped[0]?.holder?.owner.clientId).toBe(one.clientId)
  })

  test('a name of the wrapper replaces that of the job', async () => {
    const names: unknown[] = []
    const wrapped = oncePerTick(one, ({ name }) => names.push(name), {
      atLeastMs: 5_000,
      name: 'b',
    })
    await call(wrapped, 'a')
    expect(names).toEqual(['b'])
  })

  test('a job without a name is refused, with the cure', async () => {
    const wrapped = oncePerTick(one, mustNotRun, { atLeastMs: 5_000 })
    expect(await refusal(() => call(wrapped))).toContain(cure)
  })

  test('an error of the work is one of the job', async () => {
    const wrapped = oncePerTick(one, mustNotRun, { atLeastMs: 5_000 })
    await expect(call(wrapped, 'a')).rejects.toThrow('the work ran')
  })
})

/** The run of the next day is due, while that of this day still works. */
function passOneDay(): void {
  vi.setSystemTime(DUE.getTime() + DAY_MS + LATE_MS)
}

test.each(EACH)('%s: the next slot is skipped while the last run works', async (_, { call }) => {
  const skipped: SkippedTick[] = []
  const [begun, ended] = [gate(), gate()]
  const long = async (): Promise<void> => {
    begun.open()
    await ended.opened
  }
  const first = call(oncePerTick(one, long, { atLeastMs: 5_000 }), 'a')
  await begun.opened
  passOneDay()
  const onSkip = (tick: SkippedTick): unknown => skipped.push(tick)
  // In one process croner takes a name once.
  await call(oncePerTick(two, mustNotRun, { name: 'a', atLeastMs: 5_000, onSkip }))
  expect(skipped).toMatchObject([
    { slot: new Date(DUE.getTime() + DAY_MS), reason: 'still-running' },
  ])
  ended.open()
  await first
})

test.each(EACH)('%s: the next slot is queued if so asked', async (_, { call }) => {
  const runs: unknown[] = []
  const [begun, ended] = [gate(), gate()]
  const long = async (): Promise<void> => {
    begun.open()
    await ended.opened
    runs.push('first has ended')
  }
  const first = call(oncePerTick(one, long, { atLeastMs: 5_000 }), 'a')
  await begun.opened
  passOneDay()
  const options = { name: 'a', atLeastMs: 5_000, overlap: 'queue' } as const
  const second = call(oncePerTick(two, (_lease, slot) => runs.push(slot), options))
  await expect.poll(async () => (await one.mutex('a').inspect()).waiters.length).toBe(1)
  ended.open()
  await Promise.all([first, second])
  expect(runs).toEqual(['first has ended', new Date(DUE.getTime() + DAY_MS)])
})

test('a run by hand, with no time of its own, is due now', async () => {
  const slots: Date[] = []
  const wrapped = oncePerTick(one, (_, slot) => slots.push(slot), { atLeastMs: 5_000 })
  await invoke(new Job('a', wrapped))
  await createTask(PATTERN, wrapped, { name: 'a' }).execute()
  await invoke(new Job('a', wrapped))
  expect(slots).toEqual([new Date(DUE.getTime() + LATE_MS)])
})

test('a call of which the job is not seen is refused, with the cure', async () => {
  const wrapped = oncePerTick(one, mustNotRun, { atLeastMs: 5_000, name: 'a' })
  for (const args of [[], [{}], [new Date()], [undefined]])
    expect(await refusal(() => wrapped(...args))).toContain('not a function around it')
  const hidden = CronJob.from({ cronTime: PATTERN, context: { a: 1 }, onTick: wrapped })
  const failed = new Promise((resolve) => (hidden.errorHandler = resolve))
  await hidden.fireOnTick()
  expect(await refusal(() => failed.then((error) => Promise.reject(error as Error)))).toContain(
    'A CronJob with a context hides its job',
  )
})

test('what makes no sense is refused when the job is made', async () => {
  const wrong: readonly [options: object, message: string][] = [
    [{}, 'atLeastMs must be a number'],
    [{ atLeastMs: 0 }, 'atLeastMs must be at least 1'],
    [{ atLeastMs: 1, overlap: 'wait' }, "overlap must be 'skip' or 'queue'"],
    [{ atLeastMs: 1, ttlMs: 1 }, 'ttlMs must be at least 50'],
    [{ atLeastMs: 1, name: '' }, 'must not be empty'],
    [{ atLeastMs: 1, onSkip: 5 }, 'onSkip must be a function'],
    [{ atLeastMs: 1, slot: DUE }, 'There is no option "slot" for oncePerTick.'],
  ]
  for (const [options, message] of wrong) {
    const make = () => oncePerTick(one, mustNotRun, options as CronTickOptions)
    expect(await refusal(make)).toContain(message)
  }
  const options = { atLeastMs: 1 }
  expect(await refusal(() => oncePerTick('a' as never, mustNotRun, options))).toContain(
    'takes the locks of createLocks first',
  )
  expect(await refusal(() => oncePerTick(one, Promise.resolve() as never, options))).toContain(
    'its work began without the lock',
  )
})

test('a store whose locks end with the process is refused when the job is made', async () => {
  const locks = createLocks(zookeeperStore({ connect: 'nowhere.invalid:2181' }))
  const unsupported = expect.objectContaining({ code: 'UNSUPPORTED', store: 'zookeeper' })
  for (const make of [
    () => oncePerTick(locks, mustNotRun, { atLeastMs: 1 }),
    () => runCoordinator(locks, { atLeastMs: 1 }),
  ])
    expect(make).toThrow(unsupported)
  await locks.close()
})
