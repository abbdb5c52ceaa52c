/** The coordinator of node-cron, asked as node-cron asks it. */
import { createLocks, LockUsageError, type Locks } from 'holdfast'
import { oncePerTick, runCoordinator } from 'holdfast/cron'
import { memoryStore } from 'holdfast/memory'
import { schedule } from 'node-cron'
import { afterEach, beforeEach, expect, test } from 'vitest'

const TTL_MS = 30_000
const OPTIONS = { atLeastMs: 60_000 }

let one: Locks
let two: Locks

beforeEach(() => {
  const store = memoryStore()
  one = createLocks(store)
  two = createLocks(store)
})

afterEach(() => Promise.all([one.close({ graceMs: 0 }), two.close({ graceMs: 0 })]))

/** Returns a key as node-cron makes it, for a slot of a few seconds ago or ahead. */
function key(seconds = 0, name = 'report'): string {
  const slotMs = Math.floor(Date.now() / 1_000) * 1_000 + seconds * 1_000
  return `${name}:${new Date(slotMs).toISOString()}`
}

test('one of two processes may run, and the slot stays taken after it', async () => {
  const [first, second] = [runCoordinator(one, OPTIONS), runCoordinator(two, OPTIONS)]
  const due = key()
  expect(await first.shouldRun(due, TTL_MS)).toBe(true)
  expect(await second.shouldRun(due, TTL_MS)).toBe(false)
  await first.onComplete(due)
  expect(await second.shouldRun(due, TTL_MS)).toBe(false)
  await second.onComplete(due)
  const names = (await one.inspect()).locks.map(({ lock }) => lock)
  expect(names).toEqual([`report@tick:${due.slice(7).replace('.000Z', 'Z')}`])
  expect(await second.shouldRun(key(1), TTL_MS)).toBe(true)
})

test('the next slot is skipped or queued while a run is not complete', async () => {
  const [first, second] = [runCoordinator(one, OPTIONS), runCoordinator(two, OPTIONS)]
  const [due, next, third] = [key(), key(1), key(2)]
  expect(await first.shouldRun(due, TTL_MS)).toBe(true)
  expect(await second.shouldRun(next, TTL_MS)).toBe(false)
  const queue = runCoordinator(two, { ...OPTIONS, overlap: 'queue' })
  let answer: boolean | undefined
  const queued = queue.shouldRun(third, TTL_MS).then((may) => (answer = may))
  await expect.poll(async () => (await one.mutex('report').inspect()).waiters.length).toBe(1)
  expect(answer).toBeUndefined()
  await first.onComplete(due)
  expect(await queued).toBe(true)
  await queue.onComplete(third)
})

test('a key that is asked for twice runs once, and can be completed', async () => {
  const coordinator = runCoordinator(one, OPTIONS)
  const due = key()
  expect(await coordinator.shouldRun(due, TTL_MS)).toBe(true)
  expect(await coordinator.shouldRun(due, TTL_MS)).toBe(false)
  await coordinator.onComplete(due)
  expect((await two.mutex('report').inspect()).holders).toEqual([])
})

test('a run whose lease was lost is reported when it is complete', async () => {
  const coordinator = runCoordinator(one, OPTIONS)
  const due = key()
  expect(await coordinator.shouldRun(due, 300)).toBe(true)
  await two.steal('report', { now: true })
  await expect
    .poll(async () => (await one.mutex('report').inspect()).holders, { timeout: 5_000 })
    .toEqual([])
  await new Promise((resolve) => void setTimeout(resolve, 300))
  await expect(coordinator.onComplete(due)).rejects.toMatchObject({ code: 'LOCK_LOST' })
})

test('the lease has the ttlMs of the coordinator, or else that of the task', async () => {
  const own = runCoordinator(one, { ...OPTIONS, ttlMs: 5_000 })
  expect(await own.shouldRun(key(), 10)).toBe(true)
  const other = runCoordinator(one, OPTIONS)
  await expect(other.shouldRun(key(0, 'other'), 10)).rejects.toThrow('ttlMs must be at least 50')
})

test('a name may have colons, and a key of another kind is refused', async () => {
  const coordinator = runCoordinator(one, OPTIONS)
  expect(await coordinator.shouldRun(key(0, 'a:b'), TTL_MS)).toBe(true)
  expect((await one.inspect()).locks.map(({ lock }) => lock)).toContain('a:b')
  for (const wrong of ['report', ':2027-01-31T03:00:00.000Z', 'report:3', undefined as never])
    await expect(coordinator.shouldRun(wrong, TTL_MS)).rejects.toBeInstanceOf(LockUsageError)
})

test('a task with both, the coordinator and the wrapper, is refused', async () => {
  const failure = new Promise<Error | undefined>((resolve) => {
    const wrapped = oncePerTick(one, () => undefined, OPTIONS)
    const terms = {
      name: 'report',
      distributed: true,
      runCoordinator: runCoordinator(one, OPTIONS),
    }
    const silent = { info() {}, warn() {}, error() {}, debug() {} }
    const task = schedule('* * * * * *', wrapped, { ...terms, logger: silent })
    task.once('execution:failed', async ({ execution }) => {
      await task.destroy()
      resolve(execution?.error)
    })
  })
  expect((await failure)?.message).toContain('Give the task its plain function')
})
