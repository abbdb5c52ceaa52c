/** The traces of calls: order, outcomes, async contexts, and what they leave unchanged. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import { onLockEvent, type LockEventName, type LockTrace } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stepsOf, tracesOf } from '../../support/traces.js'
import { deferred, makeWorld, outcomeOf } from '../../support/world.js'

test('a trace is one context from start to asyncEnd, to which claim, token and outcome come', async () => {
  const steps = stepsOf('acquire')
  const atStart: object[] = []
  const { start } = tracingChannel('holdfast:acquire')
  const note = (message: unknown): void => void atStart.push({ ...(message as object) })
  start.subscribe(note)
  onTestFinished(() => start.unsubscribe(note))
  const locks = makeWorld().direct()
  const lease = await locks.mutex('a').acquire()
  expect(steps.map(({ step }) => step)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
  expect(new Set(steps.map(({ trace }) => trace)).size).toBe(1)
  const { clientId, store } = locks
  const known = { lock: 'a', kind: 'mutex', store: store.name, clientId }
  expect(atStart).toEqual([{ ...known, claimId: undefined }])
  const { claimId, token } = lease
  expect(steps[0]?.trace).toEqual({ ...known, claimId, token, outcome: 'granted' })
})

test('the trace of a failure has the error, on its own channel too', async () => {
  const steps = stepsOf('acquire')
  const locks = makeWorld().direct()
  await locks.close()
  const { error } = (await outcomeOf(locks.mutex('a').acquire())) as { error: unknown }
  const order = steps.map(({ step }) => step)
  expect(order).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd'])
  expect(steps[2]?.trace).toMatchObject({ outcome: 'aborted', claimId: undefined })
  expect(steps[2]?.trace.error).toBe(error)
})

test('a claim that is on its way is known when the request has left', async () => {
  const steps = stepsOf('acquire')
  const world = makeWorld()
  const claims: unknown[] = []
  const { end } = tracingChannel('holdfast:acquire')
  const note = (message: unknown): void => void claims.push((message as LockTrace).claimId)
  end.subscribe(note)
  onTestFinished(() => end.unsubscribe(note))
  const locks = world.client()
  const found = [locks.mutex('a').acquire(), locks.mutex('b').tryAcquire()]
  const leases = await world.clock.until(Promise.all(found))
  expect(claims).toEqual(leases.map((lease) => lease?.claimId))
  expect(steps).toHaveLength(8)
})

describe('the outcome of a call that gets no lease', () => {
  test('is busy where it does not wait, timeout where it does, and aborted by its signal', async () => {
    const traces = tracesOf('acquire')
    const world = makeWorld()
    await world.direct().mutex('a').acquire()
    const mutex = world.client().mutex('a')
    const signal = AbortSignal.abort('enough')
    const calls = [
      mutex.tryAcquire(),
      mutex.acquire({ waitMs: 0 }),
      mutex.run(() => undefined, { waitMs: 0 }),
      mutex.tryAcquire({ waitMs: 50 }),
      mutex.acquire({ waitMs: 50 }),
      mutex.run(() => undefined, { waitMs: 50 }),
      mutex.acquire({ signal }),
      mutex.tryAcquire({ signal }),
    ]
    await world.clock.until(Promise.all(calls.map((call) => outcomeOf<unknown>(call))))
    const counts = traces.slice(1).map(({ outcome }) => outcome)
    expect(counts.sort()).toEqual([
      ...['aborted', 'aborted', 'busy', 'busy', 'busy'],
      ...['timeout', 'timeout', 'timeout'],
    ])
  })

  test('is aborted when the client closes, and error in a self-deadlock', async () => {
    const traces = tracesOf('acquire')
    const world = makeWorld()
    const locks = world.direct()
    const mutex = locks.mutex('a')
    await mutex.run(() => outcomeOf(mutex.run(() => 'never')))
    await mutex.acquire()
    const waiting = outcomeOf(mutex.acquire())
    await locks.close()
    await waiting
    expect(traces.map(({ outcome }) => outcome)).toEqual(['granted', 'error', 'granted', 'aborted'])
  })
})

test('a plain event comes for each call that got no lease, with its claim where it had one', async () => {
  const events: [LockEventName, object][] = []
  for (const name of ['busy', 'timed-out', 'aborted'] as const) {
    const stop = onLockEvent(name, (event) => void events.push([name, { ...event }]))
    onTestFinished(stop)
  }
  const world = makeWorld()
  const locks = world.direct()
  await locks.mutex('a').acquire()
  const stop = new AbortController()
  const calls = [
    locks.mutex('a').tryAcquire(),
    world.client().mutex('a').acquire({ waitMs: 50 }),
    locks.mutex('a').acquire({ signal: stop.signal }),
  ]
  stop.abort()
  await world.clock.until(Promise.all(calls.map((call) => outcomeOf<unknown>(call))))
  const lock = { lock: 'a', kind: 'mutex' }
  const claimId = expect.any(String) as string
  expect(events).toEqual([
    ['busy', expect.objectContaining({ ...lock, claimId: undefined, durationMs: 0 })],
    ['aborted', expect.objectContaining({ ...lock, claimId: undefined })],
    ['timed-out', expect.objectContaining({ ...lock, claimId, durationMs: 50 })],
  ])
})

describe('what a subscriber binds to the start of a trace', () => {
  test('reaches the request to the store and the callback, and not the caller', async () => {
    const spans = new AsyncLocalStorage<string>()
    const names = ['acquire', 'run', 'release'] as const
    for (const name of names) {
      const { start } = tracingChannel<string, object>(`holdfast:${name}`)
      start.bindStore(spans, () => `${spans.getStore()} > ${name}`)
      onTestFinished(() => void start.unbindStore(spans))
    }
    const world = makeWorld()
    const seen: [string, string | undefined][] = []
    world.wire.fate = (verb) => {
      seen.push([verb, spans.getStore()])
      return 'deliver'
    }
    const locks = world.client()
    await spans.run('caller', async () => {
      const run = locks.mutex('a').run(() => void seen.push(['work', spans.getStore()]))
      await world.clock.until(run)
      const lease = await world.clock.until(locks.mutex('b').acquire())
      seen.push(['after', spans.getStore()])
      await world.clock.until(lease.release())
    })
    expect(seen).toEqual([
      ['attempt', 'caller > acquire'],
      ['work', 'caller > run'],
      ['withdraw', 'caller > release'],
      ['attempt', 'caller > acquire'],
      ['after', 'caller'],
      ['withdraw', 'caller > release'],
    ])
  })

  test('reaches the request of a renewal', async () => {
    const spans = new AsyncLocalStorage<object>()
    const { start } = tracingChannel<object, object>('holdfast:renew')
    start.bindStore(spans, (trace) => trace)
    onTestFinished(() => void start.unbindStore(spans))
    const world = makeWorld()
    const lease = await world.clock.until(world.client().mutex('a').acquire())
    const seen: unknown[] = []
    world.wire.fate = () => {
      seen.push(spans.getStore())
      return 'deliver'
    }
    await world.clock.until(lease.renew())
    const { claimId, token } = lease
    expect(seen).toEqual([expect.objectContaining({ claimId, token, outcome: 'renewed' })])
  })
})

test('a subscriber runs outside of the locks of the caller, whose work runs under them', async () => {
  const locks = makeWorld().direct()
  const seen: unknown[] = []
  for (const name of ['acquire', 'run'] as const) {
    const { start, asyncEnd } = tracingChannel(`holdfast:${name}`)
    const look = (): void => void seen.push(locks.current('outer'))
    for (const channel of [start, asyncEnd]) {
      channel.subscribe(look)
      onTestFinished(() => channel.unsubscribe(look))
    }
  }
  await locks.mutex('outer').run(async () => {
    await locks.mutex('inner').run(() => {
      expect(locks.current('outer')).toBeDefined()
      expect(locks.current('inner')).toBeDefined()
    })
  })
  expect(seen).toEqual(Array.from({ length: 8 }, () => undefined))
})

test('the renewals that one request carries have a trace each, with their own outcomes', async () => {
  const steps = stepsOf('renew')
  const world = makeWorld()
  const locks = world.client({ ttlMs: 3_000 })
  const leases = ['a', 'b'].map((name) => locks.mutex(name).acquire())
  const [lease] = await world.clock.until(Promise.all(leases))
  await world.store.steal('b', { now: true })
  await world.clock.advance(1_100)
  const ends = steps.filter(({ step }) => step === 'asyncEnd').map(({ trace }) => trace)
  expect(ends.map(({ lock, outcome }) => [lock, outcome])).toEqual([
    ['a', 'renewed'],
    ['b', 'lost'],
  ])
  world.wire.fate = () => 'fail'
  await world.clock.advance(1_100)
  const [unknown] = steps.filter(({ step }) => step === 'error')
  expect(unknown?.trace).toMatchObject({ claimId: lease?.claimId, outcome: 'unknown' })
  expect(unknown?.trace.error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('the trace of a release has its outcome, or the error of one that stays unknown', async () => {
  const traces = tracesOf('release')
  const world = makeWorld()
  const locks = world.client({ ttlMs: 3_000 })
  const names = ['a', 'b', 'c']
  const leases = await world.clock.until(
    Promise.all(names.map((name) => locks.mutex(name).acquire())),
  )
  const [one, two, three] = leases
  await world.clock.until(one?.release() ?? Promise.reject(new Error('no lease')))
  await world.store.steal('b', { now: true })
  await world.clock.until(two?.release() ?? Promise.reject(new Error('no lease')))
  world.wire.fate = () => 'fail'
  const failing = outcomeOf(three?.release() ?? Promise.reject(new Error('no lease')))
  await world.clock.until(failing)
  expect(traces.map(({ outcome }) => outcome)).toEqual(['released', 'lost', 'error'])
  expect(traces[2]?.error).toMatchObject({ code: 'RELEASE_UNKNOWN' })
})

describe('a call that is traced', () => {
  test('rejects with the frames of its caller', async () => {
    stepsOf('acquire')
    const world = makeWorld()
    await world.direct().mutex('a').acquire()
    const locks = world.client()
    async function callerOfAcquire(): Promise<unknown> {
      return await locks.mutex('a').acquire({ waitMs: 20 })
    }
    const { error } = (await world.clock.until(outcomeOf(callerOfAcquire()))) as { error: Error }
    expect(error.stack).toContain('callerOfAcquire')
  })

  test('ends as without a trace: the rejection that no caller handles is reported', async () => {
    stepsOf('acquire')
    const world = makeWorld()
    await world.direct().mutex('a').acquire()
    const reported = deferred<unknown>()
    const others = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.once('unhandledRejection', reported.resolve)
    onTestFinished(() => {
      for (const listener of others) process.on('unhandledRejection', listener)
    })
    void world.client().mutex('a').acquire({ waitMs: 20 })
    await world.clock.advance(30)
    expect(await reported.promise).toMatchObject({ code: 'LOCK_TIMEOUT' })
  })

  test('shows its token as text in a log', async () => {
    const [trace] = await withTrace()
    expect(JSON.parse(JSON.stringify(trace))).toHaveProperty('token', String(trace?.token))
    expect(inspect(trace)).toMatch(/token: '\d+'/)
  })
})

async function withTrace(): Promise<readonly LockTrace[]> {
  const traces = tracesOf('acquire')
  await makeWorld().direct().mutex('a').acquire()
  return traces
}
