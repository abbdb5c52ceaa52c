/** The instruments of `holdfast/opentelemetry`, with the SDK. */
import { metrics } from '@opentelemetry/api'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { LockUsageError } from 'holdfast'
import { instrumentHoldfast } from 'holdfast/opentelemetry'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeWorld, outcomeOf } from '../support/world.js'
import { OUTCOMES, prepareSixCalls } from '../support/outcomes.js'
import { subscribed } from '../support/traces.js'
import { countOf, Sdk } from './support/sdk.js'

const LOCK = { 'holdfast.store.name': 'memory', 'holdfast.lock.kind': 'mutex' }
const REMOTE = { ...LOCK, 'holdfast.store.name': 'remote memory' }

test('six calls with one outcome each leave one series for each of the six outcomes', async () => {
  const calls = await prepareSixCalls()
  const sdk = new Sdk()
  await calls.make()
  const series = await sdk.series('holdfast.lock.acquire.duration')
  const outcomes = series.map(({ attributes }) => attributes['holdfast.outcome'])
  expect(outcomes.toSorted()).toEqual(OUTCOMES.toSorted())
  expect(series.map(countOf)).toEqual([1, 1, 1, 1, 1, 1])
  const failed = series.find(({ attributes }) => attributes['holdfast.outcome'] === 'error')
  expect(failed?.attributes).toEqual({
    'holdfast.store.name': 'memory',
    'holdfast.lock.kind': 'semaphore',
    'holdfast.outcome': 'error',
    'error.type': 'LOCK_MISMATCH',
  })
})

test('durations are in seconds, in the buckets that were asked for', async () => {
  const sdk = new Sdk({ buckets: [0.5, 1] })
  const world = makeWorld()
  const mutex = world.client().mutex('a')
  await world.clock.until(mutex.run(() => world.clock.advance(700)))
  const [held] = await sdk.series('holdfast.lock.hold.duration')
  expect(held?.attributes).toEqual({ ...REMOTE, 'holdfast.outcome': 'released' })
  expect(held?.value).toMatchObject({
    count: 1,
    sum: expect.closeTo(0.7, 1) as number,
    buckets: { boundaries: [0.5, 1], counts: [0, 1, 0] },
  })
})

test('leases, waits and leaders are counted as they are now, also at zero', async () => {
  const sdk = new Sdk()
  const world = makeWorld()
  const locks = world.direct()
  const leases = [await locks.mutex('a').acquire(), await locks.mutex('b').acquire()]
  const waiting = world.client().mutex('a').acquire()
  const election = locks.election('e')
  await election.campaign()
  const now = async (): Promise<unknown> => {
    const names = ['holdfast.lease.active', 'holdfast.wait.active', 'holdfast.election.leading']
    const found = await sdk.metrics()
    return names.map((name) => found.get(name))
  }
  const leader = { 'holdfast.store.name': 'memory', 'holdfast.election.name': 'e' }
  expect(await now()).toEqual([
    [{ attributes: LOCK, value: 3 }],
    [
      { attributes: LOCK, value: 0 },
      { attributes: REMOTE, value: 1 },
    ],
    [{ attributes: leader, value: 1 }],
  ])
  for (const lease of leases) await lease.release()
  await election.resign()
  await world.clock.until((await world.clock.until(waiting)).release())
  expect(await now()).toEqual([
    [
      { attributes: LOCK, value: 0 },
      { attributes: REMOTE, value: 0 },
    ],
    [
      { attributes: LOCK, value: 0 },
      { attributes: REMOTE, value: 0 },
    ],
    [{ attributes: leader, value: 0 }],
  ])
})

test('a lease that was handed off, lost or whose release stays unknown counts once', async () => {
  const sdk = new Sdk()
  const world = makeWorld()
  const locks = world.client({ ttlMs: 1_000 })
  const runs = Array.from({ length: 4 }, () => locks.mutex('a').run(() => undefined))
  await world.clock.until(Promise.all(runs))
  const leases = ['b', 'c'].map((name) => locks.mutex(name).acquire())
  const [lost, unknown] = await world.clock.until(Promise.all(leases))
  await world.store.steal('b', { now: true })
  await world.clock.advance(500)
  await world.clock.until(lost?.release() ?? Promise.reject(new Error('no lease')))
  world.wire.fate = () => 'fail'
  await world.clock.until(outcomeOf(unknown?.release() ?? Promise.reject(new Error('no lease'))))
  expect(await sdk.series('holdfast.lease.active')).toEqual([{ attributes: REMOTE, value: 0 }])
  const reason = { 'holdfast.loss.reason': 'stolen' }
  const losses = await sdk.series('holdfast.lease.losses')
  // Each reason begins at zero.
  expect(losses).toHaveLength(4)
  expect(losses.filter(({ value }) => value !== 0)).toEqual([
    { attributes: { ...REMOTE, ...reason }, value: 1 },
  ])
})

test('renewals have their outcomes', async () => {
  const sdk = new Sdk()
  const world = makeWorld()
  const lease = await world.clock.until(world.client().mutex('a').acquire())
  await world.clock.until(lease.renew())
  world.wire.fate = () => 'fail'
  await world.clock.until(outcomeOf(lease.renew()))
  await world.store.steal('a', { now: true })
  world.wire.fate = () => 'deliver'
  await world.clock.until(outcomeOf(lease.renew()))
  const series = await sdk.series('holdfast.lease.renewal.duration')
  const outcomes = series.map(({ attributes }) => attributes['holdfast.outcome'])
  expect(outcomes).toEqual(['renewed', 'unknown', 'lost'])
})

test('names of locks are in metrics only through lockName', async () => {
  const groups: Record<string, string> = { 'order:1': 'order', 'order:2': 'order' }
  const sdk = new Sdk({ lockName: (name) => groups[name] })
  const locks = makeWorld().direct()
  for (const name of ['order:1', 'order:2', 'other']) await locks.mutex(name).run(() => undefined)
  const series = await sdk.series('holdfast.lock.hold.duration')
  expect(series.map(({ attributes }) => attributes['holdfast.lock.name'])).toEqual([
    'order',
    undefined,
  ])
  expect(series.map(countOf)).toEqual([2, 1])
})

describe('instrumentHoldfast', () => {
  test('uses a provider that the program registers later', async () => {
    const { tracerProvider } = new Sdk()
    const stop = instrumentHoldfast({
      tracerProvider: { getTracer: tracerProvider.getTracer.bind(tracerProvider) },
    })
    onTestFinished(stop)
    const locks = makeWorld().direct()
    await locks.mutex('a').acquire()
    const added: string[] = []
    const provider = new MeterProvider()
    const getMeter = (name: string): ReturnType<typeof provider.getMeter> => {
      added.push(name)
      return provider.getMeter(name)
    }
    metrics.setGlobalMeterProvider({ getMeter })
    onTestFinished(() => {
      metrics.disable()
    })
    await locks.mutex('b').acquire()
    expect(added).toEqual(['holdfast'])
  })

  test('leaves nothing after stop', async () => {
    const sdk = new Sdk()
    sdk.stop()
    await makeWorld()
      .direct()
      .mutex('a')
      .run(() => undefined)
    expect([...(await sdk.metrics()).keys()]).toEqual([])
    expect(sdk.spans).toEqual([])
    expect(subscribed()).toEqual([])
    sdk.stop()
  })

  test.each([
    [{ meterProvider: {} }, 'meterProvider of instrumentHoldfast must be a provider'],
    [{ tracerProvider: null }, 'tracerProvider of instrumentHoldfast must be a provider'],
    [{ buckets: [2, 1] }, 'buckets of instrumentHoldfast must be numbers of seconds'],
    [{ lockName: 'a' }, 'lockName of instrumentHoldfast must be a function'],
    [{ meterprovider: {} }, 'Did you mean "meterProvider"?'],
  ])('refuses %o', (options, message) => {
    const call = (): unknown => instrumentHoldfast(options as never)
    expect(call).toThrow(LockUsageError)
    expect(call).toThrow(message)
  })

  test('refuses a provider that records already', () => {
    const { meterProvider, tracerProvider, stop } = new Sdk()
    expect(() => instrumentHoldfast({ meterProvider })).toThrow('each call would count twice')
    expect(() => instrumentHoldfast({ tracerProvider })).toThrow('each call would count twice')
    stop()
    instrumentHoldfast({ meterProvider, tracerProvider })()
  })
})
