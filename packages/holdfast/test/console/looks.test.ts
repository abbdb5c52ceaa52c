/** The looks at the store: for all viewers together, paced, and never in the way of an answer. */
import type { Store } from 'holdfast/store'
import { expect, test, vi } from 'vitest'
import { outcomeOf } from '../support/world.js'
import { makeViewer } from './support/viewer.js'

test('without viewers nothing asks the store, and an hour later nothing does', async () => {
  const viewer = makeViewer()
  const [list, inspect] = [vi.spyOn(viewer.store, 'list'), vi.spyOn(viewer.store, 'inspect')]
  await viewer.clock.advance(60_000)
  expect([list.mock.calls.length, inspect.mock.calls.length]).toEqual([0, 0])
  await viewer.view()
  await viewer.clock.advance(60_000)
  const [lists, inspections] = [list.mock.calls.length, inspect.mock.calls.length]
  expect(lists).toBeGreaterThan(1)
  await viewer.clock.advance(3_600_000)
  expect([list.mock.calls.length, inspect.mock.calls.length]).toEqual([lists, inspections])
})

test('ten viewers cost as much as one', async () => {
  const counts: number[] = []
  for (const viewers of [1, 10]) {
    const viewer = makeViewer()
    await viewer.client().mutex('a').acquire()
    const inspect = vi.spyOn(viewer.store, 'inspect')
    for (let poll = 0; poll < 5; poll += 1) {
      for (let index = 0; index < viewers; index += 1) await viewer.view()
      await viewer.clock.advance(2_000)
    }
    counts.push(inspect.mock.calls.length)
  }
  expect(counts[1]).toBe(counts[0])
})

test('a view after an hour without viewers shows the present', async () => {
  const viewer = makeViewer()
  const locks = viewer.client()
  const lease = await locks.mutex('a').acquire()
  expect((await viewer.view()).totals).toMatchObject({ locks: 1 })
  await lease.release()
  await locks.mutex('b').acquire()
  await viewer.clock.advance(3_600_000)
  const { table, store } = await viewer.view()
  await viewer.clock.advance(2_500)
  expect(table.rows.map(({ lock }) => lock)).not.toContain('a')
  expect(store.ageMs).toBe(0)
  expect((await viewer.view()).table.rows.map(({ lock }) => lock)).toEqual(['b'])
})

test('each request is for at most 200 locks, and the walk rests 32 times as long as it took', async () => {
  const requests: { verb: string; names: number; atMs: number; endMs: number }[] = []
  const viewer = makeViewer(
    {},
    {
      wrap: (store) =>
        slow(
          store,
          (ms) => viewer.clock.pause(ms),
          (verb, names, atMs) =>
            requests.push({ verb, names, atMs, endMs: viewer.clock.monotonicMs() }),
        ),
    },
  )
  const locks = viewer.client()
  for (let index = 0; index < 1_000; index += 1)
    await locks.mutex(`m:${index}`).acquire({ ttlMs: 10 ** 9 })
  await viewer.view()
  for (let polls = 0; polls < 30; polls += 1) {
    await viewer.clock.advance(1_000)
    await viewer.view()
  }
  expect(Math.max(...requests.map(({ names }) => names))).toBe(200)
  const walk = requests.filter(({ verb, names }) => verb === 'list' || names === 200)
  const busyMs = walk.reduce((sum, { atMs, endMs }) => sum + endMs - atMs, 0)
  expect(busyMs / viewer.clock.monotonicMs()).toBeLessThan(0.025)
  const { totals } = await viewer.view()
  expect(totals).toMatchObject({ locks: 1_000, holders: 1_000, isComplete: true })
})

const never = (): Promise<never> => new Promise(() => undefined)

/** A store whose requests take 10 ms. */
function slow(
  store: Store,
  pause: (ms: number) => Promise<void>,
  note: (verb: string, names: number, atMs: number) => void,
): Store {
  const clock = store.clock
  return Object.assign(Object.create(store) as Store, {
    async list(query: Parameters<Store['list']>[0]) {
      const atMs = clock?.monotonicMs() ?? 0
      await pause(10)
      const page = await store.list(query)
      note('list', 0, atMs)
      return page
    },
    async inspect(names: readonly string[]) {
      const atMs = clock?.monotonicMs() ?? 0
      await pause(10)
      note('inspect', names.length, atMs)
      return store.inspect(names)
    },
  })
}

test('a lock with waiters is as of the last look, one off the screen is as of the walk', async () => {
  const viewer = makeViewer()
  const [one, other] = [viewer.client(), viewer.client()]
  for (let index = 0; index < 300; index += 1) await one.mutex(`m:${index}`).acquire()
  await one.mutex('z').acquire()
  void outcomeOf(other.mutex('z').acquire())
  await viewer.view({ limit: 10 })
  await viewer.clock.advance(10_000)
  const { table } = await viewer.view({ limit: 10 })
  expect(table.rows[0]).toMatchObject({ lock: 'z', waiterCount: 1, ageMs: 0, oldestWaitMs: 10_000 })
})

test('a store that hangs: views come within 100 ms, from the last look, with its age', async () => {
  const viewer = makeViewer()
  await viewer.client().mutex('a').acquire()
  await viewer.view()
  const hanging = [
    vi.spyOn(viewer.store, 'inspect').mockImplementation(never),
    vi.spyOn(viewer.store, 'list').mockImplementation(never),
  ]
  await viewer.clock.advance(7_000)
  const startMs = viewer.clock.monotonicMs()
  const view = await viewer.view({ lock: 'unknown', search: 'unseen' })
  expect(viewer.clock.monotonicMs() - startMs).toBeLessThan(100)
  expect(view.store).toMatchObject({ state: 'away', ageMs: 6_000 })
  expect(view.lock).toBeUndefined()
  expect((await viewer.view()).table.rows).toMatchObject([{ lock: 'a' }])
  expect(view.trouble).toMatchObject([{ kind: 'store-away' }])
  for (const spy of hanging) spy.mockRestore()
})

test('a store that fails is away, with its error, and comes back by itself', async () => {
  const viewer = makeViewer()
  await viewer.client().mutex('a').acquire()
  await viewer.view()
  const end = viewer.store.fail()
  await viewer.clock.advance(2_000)
  const away = await viewer.view()
  expect(away.store).toMatchObject({ state: 'away', error: { code: 'STORE_UNAVAILABLE' } })
  expect(away.table.rows).toHaveLength(1)
  end()
  await viewer.clock.advance(4_000)
  const back = await viewer.view()
  expect(back.store).toMatchObject({ state: 'ok', ageMs: 0 })
  expect(back.store.error).toBeUndefined()
  expect(back.trouble).toEqual([])
})

test('a full name in the search, and the lock of a link, are asked for at once', async () => {
  const viewer = makeViewer({}, { namespace: 'shop' })
  await viewer.view()
  const locks = viewer.client({ namespace: 'shop' })
  await locks.mutex('order:1').acquire()
  await locks.mutex('order:2').acquire()
  expect((await viewer.view({ search: 'order:1' })).table.rows).toMatchObject([
    { lock: 'shop:order:1' },
  ])
  expect((await viewer.view({ lock: 'shop:order:2' })).lock).toMatchObject({ isFree: false })
  expect((await viewer.view({ lock: 'shop:order:3' })).lock).toBeNull()
  expect((await viewer.view({ lock: 'order:2' })).lock).toBeNull()
})

test('after close nothing asks, and each request gets 503', async () => {
  const viewer = makeViewer()
  await viewer.view()
  await viewer.console.close()
  const inspect = vi.spyOn(viewer.store, 'inspect')
  expect((await viewer.send('/api/view')).status).toBe(503)
  await viewer.clock.advance(60_000)
  expect(inspect).not.toHaveBeenCalled()
})

test('the first walk takes no rest for half a second, so that most locks are there by then', async () => {
  const viewer = makeViewer(
    {},
    {
      wrap: (store) =>
        slow(
          store,
          (ms) => viewer.clock.pause(ms),
          () => undefined,
        ),
    },
  )
  const locks = viewer.client()
  for (let index = 0; index < 1_000; index += 1) await locks.mutex(`m:${index}`).acquire()
  await viewer.view()
  await viewer.clock.advance(400)
  const { totals } = await viewer.view()
  expect(totals).toMatchObject({ locks: 1_000, isComplete: true })
})

test('the oldest wait is in the first view, before any line', async () => {
  const viewer = makeViewer()
  await viewer.client().mutex('a').acquire()
  void outcomeOf(viewer.client().mutex('a').acquire())
  await viewer.clock.advance(5_000)
  const { totals } = await viewer.view()
  expect(totals).toMatchObject({ waiters: 1, oldestWaitMs: 5_000 })
})

test('among many names of others, the first rows come after less than a second', async () => {
  const viewer = makeViewer(
    {},
    {
      wrap: (store) =>
        Object.assign(Object.create(store) as Store, {
          inspect: (names: readonly string[]) => store.inspect(names),
          async list({ cursor = '0' }: Parameters<Store['list']>[0]) {
            await viewer.clock.pause(5)
            const page = Number(cursor)
            return {
              names: page === 60 ? ['a'] : [],
              cursor: page < 99 ? `${page + 1}` : undefined,
            }
          },
        }),
    },
  )
  await viewer.client().mutex('a').acquire()
  await viewer.view()
  await viewer.clock.advance(900)
  expect((await viewer.view()).table.rows).toMatchObject([{ lock: 'a' }])
})
