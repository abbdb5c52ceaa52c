/** What a look or a view does in one turn of the event loop: a bounded part, however many locks. */
import type { Clock } from 'holdfast'
import type { LockInfo, Store } from 'holdfast/store'
import { SeededRandom, VirtualClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { KnownLocks } from '../../dist/console/look/known-locks.js'
import { Walk } from '../../dist/console/look/walk.js'
import { Cycles } from '../../dist/console/trouble/cycles.js'
import { makeViewer } from './support/viewer.js'

const MOST_IN_A_TURN = 200

/** Notes how far a count is whenever a turn ends with a timer. */
function turnsOf(clock: Clock, count: () => number): number[] {
  const turns = [count()]
  const timer = clock.timer.bind(clock)
  Object.assign(clock, {
    timer(...args: Parameters<Clock['timer']>) {
      turns.push(count())
      return timer(...args)
    },
  })
  return turns
}

/** Returns the largest step between two numbers that follow each other. */
function largestStep(turns: readonly number[]): number {
  return Math.max(...turns.slice(1).map((turn, index) => turn - (turns[index] ?? 0)))
}

function infoOf(lock: string, holds: object = {}): LockInfo {
  const base = { clientId: lock, host: 'web-1', pid: 1 }
  // A spread would read what counts its reads.
  const owner: typeof base = Object.defineProperties(base, Object.getOwnPropertyDescriptors(holds))
  const holder = {
    claimId: lock,
    weight: 1,
    heldMs: 1,
    remainingMs: 1,
    stolen: false,
    owner,
    token: 1n,
  }
  return { lock, kind: 'mutex', capacity: 1, holders: [holder], waiters: [], lastToken: 1n }
}

test('the first search over many locks reads a part of them in each turn', async () => {
  let reads = 0
  const counted = (label: string): object => ({
    get label() {
      reads += 1
      return label
    },
  })
  const viewer = makeViewer(
    {},
    {
      wrap: (store) =>
        Object.assign(Object.create(store) as Store, {
          list: (query: Parameters<Store['list']>[0]) => store.list(query),
          inspect: async (names: readonly string[]) =>
            names
              .filter((name) => name.startsWith('m:'))
              .map((name) => infoOf(name, counted(`worker of ${name}`))),
        }),
    },
  )
  const locks = viewer.client()
  for (let index = 0; index < 2_000; index += 1) await locks.mutex(`m:${index}`).acquire()
  await viewer.view({ limit: 1 })
  await viewer.clock.advance(1_000)
  reads = 0
  const turns = turnsOf(viewer.clock, () => reads)
  const { table } = await viewer.view({ search: 'worker of m:1999', limit: 1 })
  turns.push(reads)
  expect(table.total).toBe(1)
  expect(reads).toBeGreaterThanOrEqual(2_000)
  expect(largestStep(turns)).toBeLessThanOrEqual(MOST_IN_A_TURN + 1)
})

test('a walk that has met none of many locks forgets a part of them in each turn', async () => {
  let changes = 0
  const clock = new VirtualClock()
  const known = new KnownLocks(() => (changes += 1))
  const names = Array.from({ length: 1_000 }, (_, index) => `m:${index}`)
  known.note(
    names,
    names.map((name) => infoOf(name)),
    clock.monotonicMs(),
  )
  await clock.advance(1)
  changes = 0
  const turns = turnsOf(clock, () => changes)
  const store = { list: async () => ({ names: [] }) } as unknown as Store
  await clock.until(new Walk(store, '', known, clock).step(1))
  turns.push(changes)
  expect(known.size).toBe(0)
  expect(largestStep(turns)).toBe(MOST_IN_A_TURN)
})

test('a walk between a million names of others takes few steps, and rests by the shortest', async () => {
  const clock = new VirtualClock()
  const calls = { list: 0, inspect: 0 }
  const store = {
    async list({ cursor = '0' }: Parameters<Store['list']>[0]) {
      calls.list += 1
      // Each third request waits for a processor.
      await clock.pause(calls.list % 3 === 0 ? 60 : 1)
      const page = Number(cursor)
      const names = Array.from({ length: 10 }, (_, index) => `m:${page * 10 + index}`)
      return { names, cursor: page < 999 ? `${page + 1}` : undefined }
    },
    async inspect(names: readonly string[]) {
      calls.inspect += 1
      await clock.pause(4)
      return names.map((name) => infoOf(name))
    },
  } as unknown as Store
  const known = new KnownLocks(() => undefined)
  const walk = new Walk(store, '', known, clock)
  let restedMs = 0
  const all = async (): Promise<void> => {
    while (!walk.isComplete) restedMs += await walk.step(2_000)
  }
  await clock.until(all())
  expect(known.size).toBe(10_000)
  expect(calls.list).toBe(1_000)
  expect(calls.inspect).toBeLessThanOrEqual(52)
  expect(restedMs).toBeLessThan(62_000)
})

test('names stay in order through locks that come, go and come again', () => {
  const random = new SeededRandom(7)
  const known = new KnownLocks(() => undefined)
  const below = (end: number): number => Math.floor(random.next() * end)
  const expected = new Set<string>()
  for (let nowMs = 1; nowMs < 300; nowMs += 1) {
    const names = Array.from({ length: 5 }, () => `m:${below(200)}`)
    const held = names.filter(() => below(3) > 0)
    for (const name of names) expected.delete(name)
    for (const name of held) expected.add(name)
    const infos = [...new Set(held)].map((name) => infoOf(name))
    known.note(names, infos, nowMs)
    if (nowMs % 3 === 0)
      expect(known.sorted().map(({ lock }) => lock)).toEqual([...expected].sort())
  }
})

const wait = (lock: string): object => ({
  waitsFor: [{ id: `of ${lock}`, lock, weight: 1, sinceMs: 1 }],
})

test('a cycle is found among thousands of waits that end by themselves', () => {
  const known = new KnownLocks(() => undefined)
  const infos = Array.from({ length: 5_000 }, (_, index) =>
    infoOf(`m:${index}`, wait(`m:${index + 1}`)),
  )
  infos.push(infoOf('a', wait('b')), infoOf('b', wait('a')), infoOf('m:5000'))
  const names = infos.map(({ lock }) => lock)
  const cycles = new Cycles()
  for (const nowMs of [1, 2]) {
    known.note(names, infos, nowMs)
    cycles.look(known, nowMs)
  }
  const found = cycles.all(2).map(({ steps }) => steps.map(({ lock }) => lock).sort())
  expect(found).toEqual([['a', 'b']])
})
