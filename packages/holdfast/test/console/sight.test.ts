/** A user with a prefix learns nothing of other locks, in no part of any answer. */
import { SeededRandom } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { claim } from './support/claims.js'
import { makeViewer, type Viewer } from './support/viewer.js'

const PREFIX = 'team-a:'
const HOSTILE = ['<img src=x>', '\u202egpj.exe', "$(x)'", 'team-a', 'TEAM-A:x', '"', '\\', 'ä:ö']

/** Returns all texts in a value, keys included. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)])
}

/** Every name and owner outside of the prefix has this word in it. */
const SECRET = 'zzforeign'

function fill(viewer: Viewer, random: SeededRandom): void {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T
  const names = [
    ...HOSTILE.map((text) => `${PREFIX}${text}`),
    ...HOSTILE.map((text) => `${text}${SECRET}`),
    ...[1, 2, 3].map((index) => `team-b:${index}${SECRET}`),
  ]
  for (let index = 0; index < 60; index += 1) {
    const lock = pick(names)
    const isForeign = lock.includes(SECRET)
    const others = [1, 2].map(() => pick(names)).filter((name) => name !== lock)
    // The owner of a visible lock is visible; only its name must not be of a foreign lock.
    const label = isForeign ? `${SECRET}-${index}` : `worker ${index}`
    claim(viewer.store, label, lock, random.next() < 0.7 ? others : [], {
      ...(random.next() < 0.2 ? { election: true as const } : {}),
    })
  }
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])('seed %i', async (seed) => {
  const viewer = makeViewer()
  fill(viewer, new SeededRandom(seed))
  await viewer.view()
  await viewer.post({
    ...{ lock: `team-b:1${SECRET}`, claimId: 'claim-1', typed: 'x', reason: SECRET, now: false },
  })
  await viewer.clock.advance(40_000)
  await viewer.view()
  await viewer.clock.advance(4_000)
  const all = await viewer.view()
  viewer.access = { user: 'bob', may: ['look', 'steal'], prefix: PREFIX }
  const queries = [
    {},
    { search: SECRET },
    { search: 'team-b' },
    { lock: `team-b:1${SECRET}` },
    ...HOSTILE.map((text) => ({ lock: `${PREFIX}${text}`, search: text })),
    ...(['name', 'held', 'ttl', 'waiters'] as const).map((sort) => ({ sort, limit: 200 })),
  ]
  for (const query of queries) {
    const view = await viewer.view(query)
    const { table, lock, ...rest } = view
    const texts = textsIn({ ...rest, table: { ...table, search: '' }, lock })
    expect(texts.filter((text) => text.includes(SECRET))).toEqual([])
    expect(table.rows.every((row) => row.lock.startsWith(PREFIX))).toBe(true)
    if ('search' in query && query.search === SECRET) expect(table.total).toBe(0)
  }
  const own = await viewer.view()
  const visible = all.table.rows.filter((row) => row.lock.startsWith(PREFIX))
  expect(own.totals.locks).toBe(visible.length)
  expect(own.totals.holders).toBe(visible.reduce((sum, row) => sum + row.holderCount, 0))
  expect(own.totals.waiters).toBe(visible.reduce((sum, row) => sum + row.waiterCount, 0))
  expect((await viewer.view({ lock: `team-b:1${SECRET}` })).lock).toBeNull()
})

test('a cycle that leaves the prefix shows its own members, and masks the others', async () => {
  const viewer = makeViewer()
  claim(viewer.store, 'mine', 'team-a:1', ['team-b:1'])
  claim(viewer.store, SECRET, 'team-b:1', ['team-a:1'])
  viewer.access = { user: 'bob', may: ['look'], prefix: PREFIX }
  await viewer.view()
  await viewer.clock.advance(4_000)
  const { trouble } = await viewer.view()
  const [first] = trouble
  const cycle = first?.kind === 'deadlock' ? first.cycle : []
  expect(cycle).toHaveLength(2)
  expect(cycle.map(({ lock }) => lock).sort()).toEqual(['', 'team-a:1'])
  expect(cycle.find(({ lock }) => lock === '')).toEqual({
    ...{ lock: '', owner: { host: '', pid: 0, isForeign: true }, heldMs: 0 },
  })
  viewer.access = { user: 'eve', may: ['look'], prefix: 'team-c:' }
  expect((await viewer.view()).trouble).toEqual([])
})

test('a prefix without a separator at its end is announced', async () => {
  const viewer = makeViewer()
  viewer.access = { user: 'bob', may: ['look'], prefix: 'team-a' }
  expect(await viewer.view()).toMatchObject({ prefix: 'team-a', isPrefixLoose: true })
  viewer.access = { user: 'bob', may: ['look'], prefix: PREFIX }
  expect(await viewer.view()).toMatchObject({ prefix: PREFIX, isPrefixLoose: false })
})

test('the message of a store that is away is hidden, since it may name locks', async () => {
  const viewer = makeViewer()
  viewer.access = { user: 'bob', may: ['look'], prefix: PREFIX }
  await viewer.view()
  viewer.store.fail()
  await viewer.clock.advance(2_000)
  expect((await viewer.view()).store.error).toEqual({
    ...{ code: 'STORE_UNAVAILABLE', message: 'The store does not answer.' },
  })
})
