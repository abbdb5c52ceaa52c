/** Slots under faults, in virtual time: what is taken, and until when. */
import { LockTimeoutError, onLockEvent, type TickOptions } from 'holdfast'
import type { Claim } from 'holdfast/store'
import { expect, test } from 'vitest'
import { makeWorld } from '../support/world.js'

const AT_LEAST_MS = 10_000
const SECOND_MS = 1_000

function mustNotRun(): never {
  throw new Error('the work ran')
}

function runOutOfTime(): never {
  throw new LockTimeoutError(5, { lock: 'another', store: 'memory' })
}

/** Returns the world, and the terms of a slot that is due in a number of seconds. */
function setUp() {
  const world = makeWorld()
  const firstMs = world.clock.wallMs()
  const due = (seconds: number, more: Partial<TickOptions> = {}): TickOptions => ({
    slot: firstMs + seconds * SECOND_MS,
    atLeastMs: AT_LEAST_MS,
    ...more,
  })
  return { ...world, due }
}

/** Resolves to the state of a promise after some virtual time. */
async function stateAfter(
  clock: { advance(ms: number): Promise<void> },
  promise: Promise<unknown>,
) {
  let state = 'pending'
  promise.then(
    () => (state = 'resolved'),
    () => (state = 'rejected'),
  )
  await clock.advance(SECOND_MS)
  return state
}

test('a slot stays taken until twice atLeastMs after it was due, whenever it was taken', async () => {
  for (const takenAfterMs of [0, 9_000]) {
    const { clock, direct, due } = setUp()
    const locks = direct()
    await clock.advance(takenAfterMs)
    expect((await locks.oncePerTick('job', () => 1, due(0))).ran).toBe(true)
    await clock.advance(19_990 - takenAfterMs)
    expect((await locks.inspect()).locks).toHaveLength(1)
    await clock.advance(20)
    expect((await locks.inspect()).locks).toEqual([])
  }
})

test('a slot in the future stays taken as long after it', async () => {
  const { clock, direct, due } = setUp()
  const locks = direct()
  expect((await locks.oncePerTick('job', () => 1, due(5))).ran).toBe(true)
  await clock.advance(24_990)
  expect((await locks.inspect()).locks).toHaveLength(1)
  await clock.advance(20)
  expect((await locks.inspect()).locks).toEqual([])
})

test('a process that is paused until its slot is late frees the slot, and does not run', async () => {
  const { clock, wire, client, direct, due } = setUp()
  wire.latencyMs = 4_000
  const slow = client({ requestTimeoutMs: 60_000 })
  await clock.advance(3_000)
  const late = slow.oncePerTick('job', mustNotRun, due(0))
  await clock.advance(7_900)
  expect((await direct().inspect()).locks).toHaveLength(1)
  await clock.advance(10_000)
  expect(await late).toEqual({ ran: false, reason: 'late', holder: undefined })
  expect((await direct().inspect()).locks).toEqual([])
})

test('a slot is free again when the lock that covers its run cannot be had', async () => {
  const { clock, wire, client, direct, due } = setUp()
  wire.fate = (verb, claim) =>
    verb === 'attempt' && (claim as Claim).lock === 'job' ? 'fail' : 'deliver'
  const failed = client().oncePerTick('job', mustNotRun, due(0))
  failed.catch(() => undefined)
  await clock.advance(100)
  await expect(failed).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await direct().oncePerTick('job', () => 'again', due(0))).toMatchObject({ ran: true })
})

test('a queued run that is not granted within waitMs of its client does not run', async () => {
  const { clock, direct, due } = setUp()
  const lease = await direct().mutex('job').acquire()
  const queued = direct({ waitMs: 3_000 }).oncePerTick(
    'job',
    mustNotRun,
    due(0, { overlap: 'queue' }),
  )
  await clock.advance(2_900)
  expect(await stateAfter(clock, queued)).toBe('resolved')
  expect(await queued).toMatchObject({ ran: false, reason: 'still-running' })
  expect((await queued) as object).toHaveProperty('holder.claimId', lease.claimId)
})

test('a queued slot waits for longer than its own lock lasts, and loses no lease', async () => {
  const { clock, direct, due } = setUp()
  const lost: unknown[] = []
  const stop = onLockEvent('lost', (event) => lost.push(event))
  const lease = await direct().mutex('job').acquire()
  const queued = direct().oncePerTick('job', () => 'queued', due(0, { overlap: 'queue' }))
  await clock.advance(120_000)
  stop()
  expect(lost).toEqual([])
  await lease.release()
  expect(await stateAfter(clock, queued)).toBe('resolved')
  expect(await queued).toEqual({ ran: true, value: 'queued' })
})

test('close ends a queued run before it begins', async () => {
  const { clock, direct, due } = setUp()
  await direct().mutex('job').acquire()
  const locks = direct()
  const queued = locks.oncePerTick('job', mustNotRun, due(0, { overlap: 'queue' }))
  queued.catch(() => undefined)
  await clock.advance(10)
  await locks.close()
  await expect(queued).rejects.toMatchObject({ code: 'LOCKS_CLOSED' })
})

test('a timeout of the work is an error of the run', async () => {
  const { direct, due } = setUp()
  const locks = direct()
  const run = locks.oncePerTick('job', runOutOfTime, due(0))
  await expect(run).rejects.toBeInstanceOf(LockTimeoutError)
  const again = await locks.oncePerTick('job', mustNotRun, due(0))
  expect(again).toMatchObject({ ran: false, reason: 'taken' })
})

test('the run is renewed for a client that renews nothing, and names its context', async () => {
  const { clock, direct, due } = setUp()
  const locks = direct({ renew: false, reentrant: true, ttlMs: 2_000 })
  const work = async (): Promise<boolean> => {
    await clock.advance(30_000)
    return locks.current('job')?.held ?? false
  }
  expect(await locks.oncePerTick('job', work, due(0))).toEqual({ ran: true, value: true })
})
