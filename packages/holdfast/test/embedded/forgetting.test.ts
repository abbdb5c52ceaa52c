/** Rows of unused locks: the store removes them a few at a time, and keeps the tokens growing. */
import { inspectPage } from 'holdfast/internal'
import type { Store } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import {
  closing,
  databaseOf,
  databasesIn,
  makeClaim,
  makeDirectory,
  makeMachine,
  neighbourOf,
  openOn,
  openRaw,
  take,
} from './support/world.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('locks that were idle for a day', () => {
  test('go in portions, so that no opening of the file takes long, however many there are', async () => {
    const directory = makeDirectory()
    const token = await fill(directory, 3000, 2 * DAY_MS)
    const counts: number[] = []
    for (let opened = 0; opened < 10; opened += 1) {
      await open(directory, async () => undefined)
      counts.push(count(directory))
    }
    // Besides, there is one that was used just now.
    expect(counts.at(-1)).toBe(1)
    expect(counts[0]).toBeGreaterThan(2000)
    const steps = counts.map((left, index) => (counts[index - 1] ?? 3001) - left)
    expect(Math.max(...steps)).toBeLessThan(1000)
    const store = closing(openOn({ directory, machine: makeMachine({ wallMs: () => 1000 }) }))
    expect((await take(store, makeClaim(neighbourOf('used')))).token).toBeGreaterThan(token)
  })

  test('are looked for once an hour', async () => {
    const directory = makeDirectory()
    await fill(directory, 10, DAY_MS - HOUR_MS / 2)
    await open(directory, async () => undefined)
    expect(count(directory)).toBe(11)
    await open(directory, async () => undefined, HOUR_MS * 0.9)
    expect(count(directory)).toBe(11)
    await open(directory, async () => undefined, HOUR_MS * 1.1)
    expect(count(directory)).toBe(1)
  })

  test('go also where no request has asked for them since their leases ended', async () => {
    const directory = makeDirectory()
    const granted = await open(directory, (store) => take(store, makeClaim('a', { ttlMs: 1000 })))
    await open(directory, async () => undefined)
    expect(count(directory)).toBe(1)
    const later = machineIn(2 * DAY_MS)
    const first = openOn({ directory, machine: later })
    await first.inspect(['a'])
    await first.close()
    expect(count(directory)).toBe(0)
    const store = closing(openOn({ directory, machine: makeMachine() }))
    expect((await take(store, makeClaim('a'))).token).toBeGreaterThan(granted.token)
  })

  test('are kept while they are held', async () => {
    const directory = makeDirectory()
    await open(directory, (store) => take(store, makeClaim('a', { ttlMs: 3 * DAY_MS })))
    const store = closing(openOn({ directory, machine: ahead(2 * DAY_MS) }))
    expect(await store.inspect(['a'])).toHaveLength(1)
  })
})

test('a database of before, which has no index, gets it', async () => {
  const directory = makeDirectory()
  await open(directory, (store) => take(store, makeClaim('a')))
  const raw = openRaw(databaseOf(directory, 'a'))
  raw.exec(`DROP INDEX locks_busy; DELETE FROM facts WHERE name LIKE 'idle%'`)
  raw.close()
  const store = closing(openOn({ directory, machine: makeMachine() }))
  const page = await inspectPage(store, { prefix: '', limit: 10 })
  expect(page.locks.map(({ lock }) => lock)).toEqual(['a'])
})

test('a boot forgets who held, and not each lock there ever was', async () => {
  const directory = makeDirectory()
  await fill(directory, 100, 0)
  await open(directory, (store) => take(store, makeClaim('held')))
  const machine = makeMachine({ bootId: 'another boot' })
  const store = closing(openOn({ directory, machine }))
  expect((await inspectPage(store, { prefix: '', limit: 10 })).locks).toEqual([])
  expect(count(directory)).toBe(101)
})

/** Makes rows like that of a lock that was used so long ago. Gives the largest token of all. */
async function fill(directory: string, rows: number, ageMs: number): Promise<bigint> {
  const token = await open(directory, async (store) => {
    const claim = makeClaim('used')
    const granted = await take(store, claim)
    await store.withdraw(claim)
    return granted.token
  })
  const raw = openRaw(databaseOf(directory, 'used'))
  raw.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO locks SELECT 'idle ' || n, replace(state, ${token}, ${token} + n), 0, touched_ms - ${ageMs} FROM numbers, locks WHERE name = 'used';
    DELETE FROM facts WHERE name LIKE 'idle%'`)
  raw.close()
  return token + BigInt(rows)
}

async function open<R>(
  directory: string,
  work: (store: Store) => Promise<R>,
  aheadMs = 0,
): Promise<R> {
  const store = openOn({ directory, machine: ahead(aheadMs) })
  try {
    await inspectPage(store, { prefix: '', limit: 1 })
    return await work(store)
  } finally {
    await store.close()
  }
}

function ahead(ms: number): ReturnType<typeof makeMachine> {
  return makeMachine({ wallMs: () => Date.now() + ms })
}

/** A machine of the same boot, at a later time. */
function machineIn(ms: number): ReturnType<typeof makeMachine> {
  const now = makeMachine()
  return makeMachine({ wallMs: () => now.wallMs() + ms, monotonicMs: () => now.monotonicMs() + ms })
}

function count(directory: string): number {
  const counts = databasesIn(directory).map((path) => {
    const raw = openRaw(path)
    const [row] = raw.prepare('SELECT count(*) AS count FROM locks').all()
    raw.close()
    return Number(row?.['count'])
  })
  return counts.reduce((sum, rows) => sum + rows, 0)
}
