/**
 * The mark of busy locks, by which a dead peer's claims are found. It stays for a while after a
 * release, since each change of it costs as many pages as a release.
 */
import { embeddedStore } from 'holdfast/embedded'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { systemClock } from '../../dist/clock/clock.js'
import { Worker } from './support/workers.js'
import {
  closing,
  databaseOf,
  makeClaim,
  makeDirectory,
  makeMachine,
  openOn,
  openRaw,
  take,
  type Machine,
} from './support/world.js'

const HOUR_MS = 3_600_000
/** After this time a store forgets the first idle locks of a file. */
const FORGET_AFTER_MS = 50

test('a released lock keeps its mark, and is not listed', async () => {
  const directory = makeDirectory()
  const store = closing(embeddedStore({ directory }))
  await useOnce(store, 'a')
  expect(markOf(directory, 'a')).toBe(1)
  expect(await namesIn(store)).toEqual([])
  await take(store, makeClaim('b'))
  expect(await namesIn(store)).toEqual(['b'])
})

test('a lock that was released an hour ago loses its mark, and gets it with the next claim', async () => {
  const directory = makeDirectory()
  const first = openOn({ directory, machine: makeMachine() })
  await useOnce(first, 'a')
  await first.close()
  const later = makeMachine({ wallMs: () => Date.now() + 1.5 * HOUR_MS })
  const store = closing(openOn({ directory, machine: later }))
  await store.inspect(['a'])
  expect(markOf(directory, 'a')).toBe(0)
  await take(store, makeClaim('a'))
  expect(markOf(directory, 'a')).toBe(1)
})

test.each([
  ['loses no mark', 2 * HOUR_MS],
  ['loses no row', 48 * HOUR_MS],
])('a lock that is taken while idle ones are forgotten %s', async (_what, laterMs) => {
  const directory = makeDirectory()
  const { machine, forget, advance } = machineOfForgetting()
  const store = closing(openOn({ directory, machine }))
  await useOnce(store, 'a')
  await eventually('the store is about to forget', () => forget.length > 0)
  advance(laterMs)
  const claim = makeClaim('a')
  const taken = take(store, claim)
  for (const fire of forget) fire()
  await taken
  expect(markOf(directory, 'a')).toBe(1)
  const [info] = await store.inspect(['a'])
  expect(info?.holders.map(({ claimId }) => claimId)).toEqual([claim.id])
})

test.skipIf(process.platform === 'win32')(
  'the claims of a dead peer end behind hundreds of released locks, too',
  async () => {
    const directory = makeDirectory()
    const store = closing(embeddedStore({ directory }))
    await useOnce(store, 'a')
    fill(directory, 'a', 1200)
    const last = lastNeighbourOf('a')
    const holder = new Worker(directory)
    for (const lock of ['a', last]) await holder.ask('acquire', { lock })
    await holder.kill()
    await store.inspect(['a'])
    await eventually('the claim on the last lock has ended', () =>
      stateOf(directory, last).includes('"h":[]'),
    )
  },
)

async function useOnce(store: Store, lock: string): Promise<void> {
  const claim = makeClaim(lock)
  await take(store, claim)
  await store.withdraw(claim)
}

async function namesIn(store: Store): Promise<string[]> {
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ prefix: '', cursor, limit: 10 })
    names.push(...page.names)
    cursor = page.cursor
  } while (cursor !== undefined)
  return names
}

/** A machine whose store forgets idle locks when the test fires its timers, at a later hour. */
function machineOfForgetting(): {
  readonly machine: Machine
  readonly forget: (() => void)[]
  readonly advance: (ms: number) => void
} {
  let aheadMs = 0
  const forget: (() => void)[] = []
  const machine = makeMachine({
    wallMs: () => Date.now() + aheadMs,
    timer(delayMs, fire, background) {
      if (delayMs !== FORGET_AFTER_MS) return systemClock.timer(delayMs, fire, background)
      forget.push(fire)
      return { cancel: () => undefined }
    },
  })
  return { machine, forget, advance: (ms) => (aheadMs += ms) }
}

/** Adds rows of released locks, whose names come first. */
function fill(directory: string, lock: string, rows: number): void {
  const raw = openRaw(databaseOf(directory, lock))
  raw.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO locks SELECT '0 ' || n, state, 1, touched_ms FROM numbers, locks WHERE name = '${lock}'`)
  raw.close()
}

function lastNeighbourOf(lock: string): string {
  for (let index = 0; ; index += 1) {
    const name = `z ${index}`
    if (databaseOf('', name) === databaseOf('', lock)) return name
  }
}

function markOf(directory: string, lock: string): unknown {
  return rowOf(directory, lock)?.['busy']
}

function stateOf(directory: string, lock: string): string {
  return String(rowOf(directory, lock)?.['state'])
}

function rowOf(directory: string, lock: string): Record<string, unknown> | undefined {
  const raw = openRaw(databaseOf(directory, lock))
  const [row] = raw.prepare('SELECT busy, state FROM locks WHERE name = ?').all(lock)
  raw.close()
  return row
}
