/** `holdfast deadlocks`: the holders that wait for each other, drawn and as JSON. */
import { createLocks, type Locks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { Box } from '../support/holdfast.js'
import { expectOneToEnd } from '../support/nested-runs.js'

const opened: Locks[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((locks) => locks.close({ graceMs: 0 })))
})

function client(box: Box, label: string): Locks {
  const locks = createLocks(embeddedStore({ directory: box.file('store') }), { label })
  opened.push(locks)
  return locks
}

/** Takes one lock inside the other, and shows the wait as a client of a deadlock does. */
async function holdAndWait(locks: Locks, outer: string, inner: string): Promise<void> {
  const lease = await locks.mutex(outer).acquire()
  const note = { id: `wait-of-${outer}`, lock: inner, weight: 2 ** 31 - 1, sinceMs: Date.now() }
  const {
    locks: [info],
  } = await locks.inspect({ prefix: outer })
  const [holder] = info?.holders ?? []
  if (!holder) throw new Error(`"${outer}" has no holder`)
  const owner = { ...holder.owner, waitsFor: [note] }
  await locks.store.renew([
    { lock: outer, id: lease.claimId, ttlMs: 30_000, owner, keepsEnd: true },
  ])
}

/** Takes one lock inside the other, once both clients hold their first. */
function pair(locks: Locks, outer: string, inner: string): Promise<string> {
  return locks.mutex(outer).run(async () => {
    await eventually('both hold', async () => (await locks.inspect()).locks.length === 2)
    return locks.mutex(inner).run(() => 'done')
  })
}

test('without a deadlock it exits with 0', async () => {
  const box = new Box()
  const holder = await box.holder('job')
  const run = box.holdfast(['deadlocks'])
  expect(await run.code()).toBe(0)
  expect(run.stdout).toContain('No holders wait for each other.')
  expect(await box.json<{ deadlocks: unknown[] }>(['deadlocks'])).toMatchObject({ deadlocks: [] })
  holder.types('\n')
})

test('a deadlock is drawn, with the wait that fails, and exits with 75', async () => {
  const box = new Box()
  await holdAndWait(client(box, 'ship'), 'order', 'stock')
  await holdAndWait(client(box, 'restock'), 'stock', 'order')
  const run = box.holdfast(['deadlocks'])
  expect(await run.code()).toBe(75)
  const [head, first, last] = run.stdout.split('\n').slice(2)
  expect(head).toMatch(/^LOCK +HELD BY +WAITS FOR +CLAIM +LABEL$/)
  expect(first).toMatch(/^┌▶ order +\S+ pid \d+ +stock .* ship$/)
  expect(last).toMatch(/^└─ stock +\S+ pid \d+ +order .* restock$/)
  expect(run.stdout).toMatch(/The wait of \S+ pid \d+ began last, .* ago: it fails next\./)
})

test('inspect and ls show what a holder itself waits for', async () => {
  const box = new Box()
  await holdAndWait(client(box, 'ship'), 'order', 'stock')
  for (const args of [['inspect', 'order'], ['ls']]) {
    const run = box.holdfast(args)
    expect(await run.code()).toBe(0)
    expect(run.stdout).toContain('ITSELF WAITS FOR')
    expect(run.stdout).toMatch(/ stock$/m)
  }
})

test('a real deadlock of two clients is over within three seconds', async () => {
  const box = new Box()
  const [one, other] = [client(box, 'ship'), client(box, 'restock')]
  const outcomes = await Promise.allSettled([
    pair(one, 'order', 'stock'),
    pair(other, 'stock', 'order'),
  ])
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await box.holdfast(['deadlocks']).code()).toBe(0)
})

test('one of two runs inside of runs ends that wait for each other', async () => {
  await expectOneToEnd(new Box())
})
