/** A caller that waits for a lock of its own process: an event, one warning, and the timeout. */
import { createLocks, onLockEvent, type LockEvents, type Locks } from 'holdfast'
import { SeededRandom } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../../support/world.js'

type SelfWait = LockEvents['self-wait']

function eventsOf({ clientId }: Locks): SelfWait[] {
  const events: SelfWait[] = []
  const stop = onLockEvent('self-wait', (event) => {
    if (event.clientId === clientId) events.push(event)
  })
  onTestFinished(stop)
  return events
}

/** Lets the code load that is imported when it is needed. */
async function pass({ clock }: World, ms: number): Promise<void> {
  await clock.advance(ms)
  await import('../../../dist/lease/wait/self-waits.js')
  await clock.advance(0)
}

test('a process is warned once, with the place of the hold', async () => {
  const warnings: (Error & { code?: string })[] = []
  const note = (warning: Error): number => warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const world = makeWorld()
  const { clock, store } = world
  const locks = createLocks(store, { clock, random: new SeededRandom(1), traceAcquires: true })
  const held = await locks.mutex('a').acquire()
  // At the time of the warning a stand-in holds the place of the lease.
  await clock.advance(500)
  const waits = [1, 2].map(() => locks.mutex('a').acquire())
  await pass(world, 9000)
  expect(warnings).toEqual([])
  await pass(world, 30_000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatchObject({ name: 'HoldfastWarning', code: 'HOLDFAST_SELF_WAIT' })
  expect(warnings[0]?.message).toMatch(/"a".* may be a self-deadlock[^]*self-wait\.test\.ts/)
  await held.release()
  for (const wait of waits) await (await wait).release()
})

test('each long wait is announced once, and named in its timeout', async () => {
  const world = makeWorld()
  const locks = world.direct()
  const events = eventsOf(locks)
  const held = await locks.mutex('a').acquire()
  const outcome = outcomeOf(locks.mutex('a').acquire({ waitMs: 60_000 }))
  await pass(world, 59_000)
  expect(events).toMatchObject([{ lock: 'a', claimId: held.claimId }])
  expect(events[0]?.durationMs).toBeGreaterThanOrEqual(10_000)
  expect(events[0]?.durationMs).toBeLessThan(12_000)
  await pass(world, 2000)
  expect(await world.clock.until(outcome)).toMatchObject({
    error: {
      code: 'LOCK_TIMEOUT',
      message: expect.stringMatching(/held by this process, pid/) as string,
    },
  })
})

test('no wait is announced for a lock of a run, of another client, or that is shared', async () => {
  const world = makeWorld()
  const locks = world.direct()
  const events = eventsOf(locks)
  const waiting: Promise<unknown>[] = []
  const stop = new AbortController()
  const wait = (lock: { acquire(options: object): Promise<unknown> }): void =>
    void waiting.push(outcomeOf(lock.acquire({ signal: stop.signal })))
  void outcomeOf(locks.mutex('run').run(() => new Promise(() => undefined)))
  wait(locks.mutex('run'))
  await world.direct().mutex('other').acquire()
  wait(locks.mutex('other'))
  const pool = locks.semaphore('pool', { permits: 2 })
  await pool.acquire()
  await pool.acquire()
  wait(pool)
  await pass(world, 30_000)
  expect(events).toEqual([])
  stop.abort()
  await Promise.all(waiting)
})
