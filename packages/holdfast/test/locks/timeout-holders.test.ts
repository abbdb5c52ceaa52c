/** The error of a long wait names the holders of the lock. */
import { LockTimeoutError } from 'holdfast'
import { expect, test, vi } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../support/world.js'

async function timeoutOf(world: World, wait: Promise<unknown>): Promise<LockTimeoutError> {
  const outcome = (await world.clock.until(outcomeOf(wait))) as { error: unknown }
  expect(outcome.error).toBeInstanceOf(LockTimeoutError)
  return outcome.error as LockTimeoutError
}

test('a wait of a second names the holder in field and message', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct({ label: 'nightly "backup"' }), world.client()]
  const held = await one.mutex('a').acquire()
  const error = await timeoutOf(world, two.mutex('a').acquire({ waitMs: 1000 }))
  expect(error.holders).toMatchObject([{ claimId: held.claimId, token: held.token }])
  expect(error.message).toContain(
    `was still busy after 1000 ms, held by pid ${process.pid} on ${error.holders[0]?.owner.host} ("nightly \\"backup\\""). Wait`,
  )
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    waitMs: 1000,
    holders: [{ token: String(held.token) }],
  })
})

test('a shorter wait, and tryAcquire, ask nothing', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  await one.mutex('a').acquire()
  const inspect = vi.spyOn(world.store, 'inspect')
  const { holders } = await timeoutOf(world, two.mutex('a').acquire({ waitMs: 999 }))
  expect(holders).toEqual([])
  expect(await world.clock.until(two.mutex('a').tryAcquire({ waitMs: 3000 }))).toBeUndefined()
  expect(inspect).not.toHaveBeenCalled()
})

test('callers whose waits end together share one request, the waits of other locks do not', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  const semaphore = one.semaphore('s', { permits: 3 })
  for (let held = 0; held < 3; held += 1) await semaphore.acquire()
  await one.mutex('a').acquire()
  const inspect = vi.spyOn(world.store, 'inspect')
  const own = two.semaphore('s', { permits: 3 })
  const waits = [
    ...Array.from({ length: 20 }, () => own.acquire({ waitMs: 2000 })),
    two.mutex('a').acquire({ waitMs: 2000 }),
    two.mutex('a').run(() => 1, { waitMs: 2000 }),
  ].map((wait) => outcomeOf<unknown>(wait))
  const errors = (await world.clock.until(Promise.all(waits))) as { error: LockTimeoutError }[]
  expect(errors.map(({ error }) => error.holders.length)).toEqual([...Array(20).fill(3), 1, 1])
  expect(errors[0]?.error.message).toMatch(/held by pid \d+ on \S+ and 2 more\./)
  expect(inspect).toHaveBeenCalledTimes(2)
})

test.each([
  ['hangs', () => new Promise<never>(() => undefined), 250],
  ['rejects', () => Promise.reject(new Error('down')), 0],
  [
    'throws',
    () => {
      throw new Error('down')
    },
    0,
  ],
])('the wait ends without holders when the store %s', async (_what, answer, lateMs) => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  await one.mutex('a').acquire()
  vi.spyOn(world.store, 'inspect').mockImplementation(answer)
  const startedMs = world.clock.monotonicMs()
  const error = await timeoutOf(world, two.mutex('a').acquire({ waitMs: 1500 }))
  expect(world.clock.monotonicMs() - startedMs).toBe(1500 + lateMs)
  expect(error.holders).toEqual([])
  expect(error.message).toContain('was still busy after 1500 ms. Wait')
})

test('a later wait asks again after the store has rejected', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  await one.mutex('a').acquire()
  vi.spyOn(world.store, 'inspect').mockImplementationOnce(() => Promise.reject(new Error('down')))
  const wait = () => timeoutOf(world, two.mutex('a').acquire({ waitMs: 1500 }))
  expect((await wait()).holders).toEqual([])
  expect((await wait()).holders).toHaveLength(1)
})

test('the caller has left the queue before it asks, so that a grant goes to the next', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  const held = await one.mutex('a').acquire()
  vi.spyOn(world.store, 'inspect').mockImplementation(() => new Promise<never>(() => undefined))
  const late = timeoutOf(world, two.mutex('a').acquire({ waitMs: 1000 }))
  const next = one.mutex('a').acquire()
  await world.clock.advance(1010)
  await held.release()
  expect((await world.clock.until(next)).held).toBe(true)
  await late
})

test('several locks, and a nested run, pass the holders on', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  await one.mutex('b').acquire()
  const several = two.multi([two.mutex('a'), two.mutex('b')])
  const error = await timeoutOf(world, several.acquire({ waitMs: 1500 }))
  expect(error.holders).toHaveLength(1)
  expect(error.waitMs).toBe(1500)
})

test('several locks, and a follower, of whose wait less than a second was left', async () => {
  const world = makeWorld()
  const [one, two] = [world.direct(), world.client()]
  await one.mutex('b').acquire()
  await one.semaphore('s', { permits: 1 }).acquire()
  const several = two.multi([two.mutex('a'), two.mutex('b')])
  const follower = two.semaphore('s', { permits: 2, onMismatch: 'follow' })
  for (const wait of [
    () => several.acquire({ waitMs: 1000 }),
    () => several.run(() => 1, { waitMs: 1000 }),
    () => follower.acquire({ waitMs: 1000 }),
  ]) {
    const error = await timeoutOf(world, wait())
    expect(error.holders).toHaveLength(1)
    expect(error.waitMs).toBe(1000)
  }
})
