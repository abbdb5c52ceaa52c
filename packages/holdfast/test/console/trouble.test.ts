/** What is wrong, the table, one lock and its history. */
import { expect, test } from 'vitest'
import { outcomeOf } from '../support/world.js'
import { claim } from './support/claims.js'
import type { ConsoleView, CycleMember } from '../../dist/console/view.js'
import { makeViewer, type Viewer } from './support/viewer.js'

async function watch(viewer: Viewer, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2_000) {
    await viewer.view()
    await viewer.clock.advance(2_000)
  }
}

test('the gravest trouble comes first, and each row has its marks', async () => {
  const viewer = makeViewer()
  const [one, two] = [viewer.client({ label: 'one' }), viewer.client({ label: 'two' })]
  await one.mutex('old').acquire({ ttlMs: 10 ** 9 })
  void outcomeOf(two.mutex('old').acquire())
  await one.mutex('stolen').acquire({ ttlMs: 10 ** 9 })
  await one.mutex('late').acquire({ ttlMs: 60_000 })
  await watch(viewer, 40_000)
  viewer.store.stallRenewals('late')
  await watch(viewer, 40_000)
  const claim = (await viewer.view({ lock: 'stolen' })).lock?.holders[0]?.claimId ?? ''
  viewer.store.stallRenewals('stolen')
  await viewer.store.elsewhere.steal('stolen', { claim, reason: 'eve: hangs' })
  await watch(viewer, 4_000)
  const { trouble, table } = await viewer.view()
  expect(trouble.map((item) => [item.kind, 'lock' in item ? item.lock : ''])).toEqual([
    ['late-renewal', 'late'],
    ['old-waiters', 'old'],
    ['stolen-but-held', 'stolen'],
  ])
  expect(trouble[1]).toMatchObject({ waiters: 1, inTheWay: { owner: { label: 'one' } } })
  expect(trouble[2]).toMatchObject({ holder: { isStolen: true, stealReason: 'eve: hangs' } })
  const marks = new Map(table.rows.map(({ lock, marks: kinds }) => [lock, kinds]))
  expect(marks.get('late')).toEqual(['late-renewal'])
  expect(marks.get('stolen')).toEqual(['stolen-but-held'])
})

test('a lock that was held for hours, and candidates that wait for hours, are no trouble', async () => {
  const viewer = makeViewer()
  const [one, two] = [viewer.client(), viewer.client()]
  const held = await one.mutex('a').acquire()
  await one.election('leader').campaign()
  void outcomeOf(two.election('leader').campaign())
  await viewer.clock.advance(2 * 3_600_000)
  await watch(viewer, 6_000)
  const { trouble, elections, table } = await viewer.view()
  expect(trouble).toEqual([])
  expect(held.signal.aborted).toBe(false)
  expect(elections).toMatchObject([{ lock: 'leader', candidates: 1, leader: { isLate: false } }])
  expect(table.rows.find(({ lock }) => lock === 'leader')).toMatchObject({ kind: 'election' })
  expect(table.rows.find(({ lock }) => lock === 'leader')?.oldestWaitMs).toBeUndefined()
}, 60_000)

test('a cycle with a stopped member counts once two looks have shown it', async () => {
  const viewer = makeViewer()
  claim(viewer.store, 'one', 'a', ['b'])
  claim(viewer.store, 'two', 'b', ['c'])
  claim(viewer.store, 'three', 'c', ['a'])
  expect((await viewer.view()).trouble).toEqual([])
  await viewer.clock.advance(4_000)
  const { trouble, table } = await viewer.view()
  expect(trouble).toMatchObject([{ kind: 'deadlock', isResolved: false }])
  const cycle = trouble[0]?.kind === 'deadlock' ? trouble[0].cycle : []
  expect(cycle.map(({ lock, owner }) => `${owner.label} ${lock}`).sort()).toEqual([
    'one a',
    'three c',
    'two b',
  ])
  expect(table.rows.map(({ marks }) => marks)).toEqual([['deadlock'], ['deadlock'], ['deadlock']])
  const { lock } = await viewer.view({ lock: 'a' })
  expect(lock?.chain.map((member) => member.lock)).toEqual(['a', 'b', 'c'])
})

function signsOf(cycle: readonly CycleMember[] = []): unknown[] {
  return cycle.map(({ owner, isSilent }) => [owner.label, isSilent]).sort()
}

test('a wait whose claim has left the queue is shown at its lock, in the cycle and in the chain', async () => {
  const viewer = makeViewer()
  // The process of `one` stands still: its lease still shows that it waits for b.
  claim(viewer.store, 'one', 'a', ['b'])
  claim(viewer.store, 'two', 'b', ['a'])
  claim(viewer.store, 'two', 'a')
  claim(viewer.store, 'three', 'b')
  const first = await viewer.view({ lock: 'b' })
  // The locks of a look are read at different moments, so one look proves nothing.
  expect(first.lock).not.toHaveProperty('silentWaiters')
  await viewer.clock.advance(4_000)
  const { trouble, table, lock } = await viewer.view({ lock: 'b' })
  const counts = table.rows.map((row) => [row.lock, row.waiterCount, row.silentCount])
  expect(counts.sort()).toEqual([
    ['a', 1, undefined],
    ['b', 1, 1],
  ])
  expect(lock).toMatchObject({ waiterCount: 1, waiters: [{ owner: { label: 'three' } }] })
  expect(lock?.silentWaiters).toEqual([
    { owner: expect.objectContaining({ label: 'one' }), holds: ['a'], renewedMs: 4_000 },
  ])
  const expected = [
    ['one', true],
    ['two', undefined],
  ]
  expect(signsOf(trouble[0]?.kind === 'deadlock' ? trouble[0].cycle : [])).toEqual(expected)
  expect(signsOf(lock?.chain)).toEqual(expected)
  claim(viewer.store, 'one', 'b')
  await viewer.clock.advance(4_000)
  const after = await viewer.view({ lock: 'b' })
  expect(after.lock).not.toHaveProperty('silentWaiters')
  expect(after.lock).toMatchObject({ waiterCount: 2 })
})

test('a wait that a run notes on the lease of another client is not silent', async () => {
  const viewer = makeViewer()
  const note = { id: 'w', lock: 'b', weight: 1, sinceMs: 1, clientId: 'client-inner' }
  claim(viewer.store, 'outer', 'a', [], { waitsFor: [note] })
  claim(viewer.store, 'other', 'b')
  claim(viewer.store, 'inner', 'b')
  await viewer.view({ lock: 'b' })
  await viewer.clock.advance(4_000)
  expect((await viewer.view({ lock: 'b' })).lock).not.toHaveProperty('silentWaiters')
})

test('a silent wait of a process that holds only locks of others is masked', async () => {
  const viewer = makeViewer()
  claim(viewer.store, 'foreign', 'other:1', ['mine:1'])
  claim(viewer.store, 'own', 'mine:1')
  viewer.access = { user: 'ada', may: ['look'], prefix: 'mine:' }
  await viewer.view({ lock: 'mine:1' })
  await viewer.clock.advance(4_000)
  const view = await viewer.view({ lock: 'mine:1' })
  expect(view.lock?.silentWaiters).toMatchObject([{ owner: { isForeign: true }, holds: [] }])
  expect(view.table.rows).toMatchObject([{ lock: 'mine:1', silentCount: 1 }])
  expect(JSON.stringify(view)).not.toMatch(/foreign"|other:1/)
})

test('a search for cycles that ends early is reported to users who see one of its locks', async () => {
  const viewer = makeViewer()
  const look = async (prefix = ''): Promise<ConsoleView> => {
    viewer.access = { user: 'ada', may: ['look'], prefix }
    await viewer.view()
    await viewer.clock.advance(4_000)
    return viewer.view()
  }
  // Each of these pairs is a deadlock.
  const add = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) {
      claim(viewer.store, `one ${index}`, `a:${index}`, [`b:${index}`])
      claim(viewer.store, `two ${index}`, `b:${index}`, [`a:${index}`])
    }
  }
  claim(viewer.store, 'free', 'c:1')
  add(0, 500)
  const whole = await look()
  expect(whole).toMatchObject({ moreTrouble: 450 })
  expect(whole).not.toHaveProperty('searchedLocks')
  add(500, 510)
  expect(await look()).toMatchObject({ moreTrouble: 450, searchedLocks: 1_000 })
  expect(await look('a:')).toMatchObject({ searchedLocks: 1_000 })
  expect(await look('c:')).not.toHaveProperty('searchedLocks')
})

test('a DeadlockError of this process leaves a resolved cycle, and a line in the histories', async () => {
  const viewer = makeViewer()
  await viewer.view()
  const nested = (first: string, second: string): Promise<unknown> =>
    outcomeOf(
      viewer.own.mutex(first).run(async () => {
        await viewer.clock.pause(1_000)
        await viewer.own.mutex(second).run(() => undefined)
      }),
    )
  await viewer.clock.until(Promise.all([nested('a', 'b'), nested('b', 'a')]))
  await viewer.view()
  await viewer.clock.advance(2_000)
  const { trouble, lock } = await viewer.view({ lock: 'a' })
  expect(trouble).toMatchObject([{ kind: 'deadlock', isResolved: true }])
  expect(lock?.history.map(({ what }) => what)).toContain('deadlock')
  await viewer.clock.advance(10 * 60_000)
  await viewer.view()
  await viewer.clock.advance(2_000)
  expect((await viewer.view()).trouble).toEqual([])
})

test('the table is sorted, cut to the window, and searched by name, host, label and pid', async () => {
  const viewer = makeViewer()
  const [one, two] = [
    viewer.client({ label: 'Billing' }),
    viewer.client({ label: 'redis://u:secret@h/0' }),
  ]
  for (const name of ['c', 'a', 'b']) {
    await one.mutex(name).acquire()
    await viewer.clock.advance(1_000)
  }
  void outcomeOf(two.mutex('b').acquire())
  await two.mutex('d').acquire()
  await viewer.view()
  await viewer.clock.advance(2_000)
  const names = async (query: Record<string, string | number>): Promise<string[]> =>
    (await viewer.view(query)).table.rows.map(({ lock }) => lock)
  expect(await names({})).toEqual(['b', 'a', 'c', 'd'])
  expect(await names({ sort: 'name', offset: 1, limit: 2 })).toEqual(['b', 'c'])
  expect(await names({ sort: 'held' })).toEqual(['c', 'a', 'b', 'd'])
  expect(await names({ search: 'billing', sort: 'name' })).toEqual(['a', 'b', 'c'])
  expect(await names({ search: String(process.pid), limit: 1 })).toHaveLength(1)
  // What the page hides is not found either.
  expect(await names({ search: 'secret' })).toEqual([])
  expect(JSON.stringify(await viewer.view({ lock: 'd' }))).not.toContain('secret')
})

test('one lock has its queue, the chain of what is in the way, and its history', async () => {
  const viewer = makeViewer()
  const [one, two] = [viewer.client({ label: 'one' }), viewer.client({ label: 'two' })]
  const lease = await one.mutex('a').acquire()
  const next = outcomeOf(two.mutex('a').acquire())
  const behind = outcomeOf(two.mutex('a').acquire())
  await viewer.view({ lock: 'a' })
  await viewer.clock.advance(2_000)
  const { lock } = await viewer.view({ lock: 'a' })
  expect(lock).toMatchObject({ waiterCount: 2, localWaiters: 1, chain: [{ lock: 'a' }] })
  expect(lock?.waiters).toHaveLength(1)
  await lease.release()
  await viewer.clock.until(next)
  await viewer.clock.advance(2_000)
  const after = (await viewer.view({ lock: 'a' })).lock
  expect(after?.history.map(({ what, owner }) => [what, owner?.label])).toEqual([
    ['granted', 'two'],
    ['ended', 'one'],
  ])
  void behind
})

test('elections and holders that are left out are counted', async () => {
  const viewer = makeViewer()
  for (let index = 0; index < 103; index += 1)
    claim(viewer.store, `leader ${index}`, `election:${index}`, [], { election: true })
  const permits = { permits: 300 }
  for (let index = 0; index < 205; index += 1)
    await viewer.client().semaphore('gpu', permits).acquire()
  const few = await viewer.view({ lock: 'election:1' })
  expect(few).toMatchObject({ moreElections: 3 })
  expect(few.elections).toHaveLength(100)
  expect(few.lock).not.toHaveProperty('moreHolders')
  const { lock } = await viewer.view({ lock: 'gpu' })
  expect(lock).toMatchObject({ moreHolders: 5 })
  expect(lock?.holders).toHaveLength(200)
  viewer.access = { user: 'ada', may: ['look'], prefix: 'election:1' }
  expect(await viewer.view()).not.toHaveProperty('moreElections')
})

test('a command is quoted for sh; a name with a control character has none but doctor', async () => {
  const viewer = makeViewer()
  const name = "-$(touch x) 'q'"
  await viewer.client().mutex(name).acquire()
  const { lock } = await viewer.view({ lock: name })
  expect(lock?.commands.map(({ command }) => command)).toContain(
    String.raw`holdfast inspect -- '-$(touch x) '\''q'\'''`,
  )
})
