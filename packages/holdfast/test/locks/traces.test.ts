/** One call has one trace, for every kind of lock; a lease has one end among the events. */
import { onLockEvent, type Lease, type LockEventName, type LockEvents } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tracesOf } from '../support/traces.js'
import { deferred, makeWorld, outcomeOf } from '../support/world.js'

/** Returns the events of a name, as they come until the test ends. */
function eventsOf<N extends LockEventName>(name: N): LockEvents[N][] {
  const events: LockEvents[N][] = []
  onTestFinished(onLockEvent(name, (event) => void events.push(event)))
  return events
}

/** Returns the outcomes of acquires that have ended, by lock. */
function outcomesOf(): () => readonly string[] {
  const traces = tracesOf('acquire')
  return () => traces.map(({ lock, kind, outcome }) => `${kind} ${lock} ${outcome}`)
}

test('readers, writers, permits and stripes are traced with their kind', async () => {
  const outcomes = outcomesOf()
  const locks = makeWorld().direct()
  await locks.readWriteLock('rw').read.acquire()
  await locks.readWriteLock('rw').write.tryAcquire()
  await locks.semaphore('s', { permits: 2 }).run(() => undefined, { weight: 2 })
  await locks.striped('t', { stripes: 2 }).at(1).acquire()
  await locks.singleFlight('f').run(() => 1, { read: () => undefined })
  await locks.oncePerTick('o', () => undefined, { atLeastMs: 60_000 })
  await locks.oncePerTick('o', () => undefined, { atLeastMs: 60_000 })
  expect(outcomes()).toEqual([
    'readWriteLock rw granted',
    'readWriteLock rw busy',
    'semaphore s granted',
    'mutex t#1 granted',
    'mutex f granted',
    'mutex o granted',
    'mutex o busy',
  ])
})

test('a callback that the library wraps is traced once', async () => {
  const runs = tracesOf('run')
  const locks = makeWorld().direct()
  await locks.singleFlight('f').run(() => 1, { read: () => undefined })
  await locks.mutex('m').run(() => undefined, { atLeastMs: 1_000 })
  await locks.election('e').lead(() => undefined)
  expect(runs.map(({ lock, outcome }) => `${lock} ${outcome}`)).toEqual([
    'f completed',
    'm completed',
    'e completed',
  ])
})

test('each lock of a multi-lock has its own trace', async () => {
  const outcomes = outcomesOf()
  const runs = tracesOf('run')
  const world = makeWorld()
  await world.direct().mutex('c').acquire()
  const locks = world.direct()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => locks.mutex(name))
  if (!a || !b || !c) throw new Error('no locks')
  await locks.multi([a, b]).run(() => undefined)
  await locks.multi([a, c]).tryAcquire()
  const [, ...rest] = outcomes()
  expect(rest).toEqual(['mutex a granted', 'mutex b granted', 'mutex a granted', 'mutex c busy'])
  expect(runs.map(({ lock }) => lock)).toEqual(['b', 'a'])
})

describe('a nested run that re-enters', () => {
  test('has the claim and token of the lease that it enters, and begins no lease', async () => {
    const traces = tracesOf('acquire')
    const runs = tracesOf('run')
    const granted = eventsOf('granted')
    const mutex = makeWorld().direct({ reentrant: true }).mutex('a')
    const { claimId, token } = await mutex.run((lease) => mutex.run(() => lease))
    const one = expect.objectContaining({ claimId, token, outcome: 'granted' }) as object
    expect(traces).toEqual([one, one])
    expect(runs).toMatchObject([
      { claimId, token },
      { claimId, token },
    ])
    expect(granted).toHaveLength(1)
  })

  test('is a timeout when its siblings take too long', async () => {
    const outcomes = outcomesOf()
    const world = makeWorld()
    const mutex = world.direct({ reentrant: true }).mutex('a')
    const gate = deferred()
    await world.clock.until(
      mutex.run(async () => {
        const first = mutex.run(() => gate.promise)
        const second = await outcomeOf(mutex.run(() => 'never', { waitMs: 50 }))
        expect(second).toMatchObject({ error: { code: 'LOCK_TIMEOUT' } })
        gate.resolve()
        await first
      }),
    )
    expect(outcomes()).toEqual(['mutex a granted', 'mutex a granted', 'mutex a timeout'])
  })

  test('is traced once when it acquires since the outer run has ended meanwhile', async () => {
    const outcomes = outcomesOf()
    const world = makeWorld()
    const mutex = world.client({ reentrant: true }).mutex('a')
    let late: Promise<unknown> | undefined
    const outer = mutex.run(() => {
      const sibling = mutex.run(() => world.clock.advance(10))
      late = mutex.run(() => 'late')
      void sibling
    })
    await world.clock.until(Promise.all([outer, late]))
    expect(await late).toBe('late')
    expect(outcomes()).toHaveLength(3)
  })
})

test('a semaphore that follows another number of permits has one trace a call', async () => {
  const outcomes = outcomesOf()
  const world = makeWorld()
  await world.direct().semaphore('s', { permits: 4 }).acquire()
  const next = world.direct().semaphore('s', { permits: 2, onMismatch: 'follow' })
  await next.acquire()
  await next.tryAcquire()
  await next.run(() => undefined)
  expect(outcomes()).toEqual(Array.from({ length: 4 }, () => 'semaphore s granted'))
})

describe('a campaign', () => {
  test('has a trace for each of its callers, with the outcome of that caller', async () => {
    const outcomes = outcomesOf()
    const world = makeWorld()
    const leader = world.direct().election('e')
    await leader.campaign()
    const candidate = world.client().election('e')
    const stop = new AbortController()
    const calls = [
      candidate.campaign({ waitMs: 0 }),
      candidate.campaign({ waitMs: 50 }),
      candidate.campaign({ signal: stop.signal }),
      candidate.campaign(),
    ]
    stop.abort()
    const found = Promise.all(calls.map((call) => outcomeOf(call)))
    await world.clock.advance(100)
    await leader.resign()
    await world.clock.until(found)
    const [, ...rest] = outcomes()
    expect(rest).toEqual(['mutex e aborted', 'mutex e busy', 'mutex e timeout', 'mutex e granted'])
  })

  test('that resign ends is aborted', async () => {
    const outcomes = outcomesOf()
    const world = makeWorld()
    await world.direct().election('e').campaign()
    const candidate = world.direct().election('e')
    const waiting = [outcomeOf(candidate.campaign()), outcomeOf(candidate.campaign())]
    await candidate.resign()
    await Promise.all(waiting)
    expect(outcomes().slice(1)).toEqual(['mutex e aborted', 'mutex e aborted'])
  })
})

function leaderWith({ claimId, token }: Lease): object {
  return { lock: 'e', kind: 'mutex', claimId, token }
}

test('an election announces who leads, with claim and token, and why it leads no more', async () => {
  const events = eventsOf('election')
  const world = makeWorld()
  const election = world.direct().election('e')
  const first = await election.campaign()
  await election.resign()
  const second = await election.campaign()
  await world.direct().steal('e', { now: true })
  await outcomeOf(second.renew())
  expect(events).toMatchObject([
    { change: 'elected', ...leaderWith(first) },
    { change: 'resigned', ...leaderWith(first) },
    { change: 'elected', ...leaderWith(second) },
    { change: 'lost', ...leaderWith(second), error: { code: 'LOCK_LOST' } },
  ])
})

test('every event names the kind of the lock', async () => {
  const events = [eventsOf('attempted'), eventsOf('granted'), eventsOf('released')]
  const locks = makeWorld().direct()
  await locks.semaphore('s', { permits: 2 }).run(() => undefined)
  for (const [event] of events) expect(event?.kind).toBe('semaphore')
})
