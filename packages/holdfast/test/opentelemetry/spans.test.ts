/** The spans of `holdfast/opentelemetry`, with the SDK, and the commands of ioredis beside them. */
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { makeWorld, outcomeOf } from '../support/world.js'
import { channelTracer, patchTracer } from './support/command-tracers.js'
import { activeSpan, linksOf, parentOf, Sdk } from './support/sdk.js'

let redis: RedisServer

beforeAll(async () => {
  redis = await startRedis()
})

afterAll(() => redis.stop())

/** Returns a client that has sent its first commands: scripts are loaded, and connections made. */
async function warmLocks(options: LocksOptions = {}): Promise<Locks> {
  const client = new Redis(redis.port)
  after(() => client.disconnect())
  const locks = createLocks(redisStore({ client }), options)
  after(() => locks.close())
  await locks.mutex('warm').run(() => undefined)
  await Promise.all([1, 2].map((index) => locks.mutex(`warm ${index}`).run(() => undefined)))
  return locks
}

test('a run has a span for its acquire and one for its callback, with lock, claim and token', async () => {
  const sdk = new Sdk()
  const locks = makeWorld().direct()
  const { claimId, token } = await locks.mutex('order:42').run((lease) => lease)
  const attributes = {
    'holdfast.lock.name': 'order:42',
    'holdfast.lock.kind': 'mutex',
    'holdfast.store.name': 'memory',
    'holdfast.claim.id': claimId,
    'holdfast.lease.token': String(token),
  }
  const [acquire, hold] = [sdk.span('acquire order:42'), sdk.span('hold order:42')]
  expect(acquire.kind).toBe(SpanKind.CLIENT)
  expect(acquire.attributes).toEqual({ ...attributes, 'holdfast.outcome': 'granted' })
  expect(hold.kind).toBe(SpanKind.INTERNAL)
  expect(hold.attributes).toEqual({ ...attributes, 'holdfast.outcome': 'completed' })
})

describe.each([
  ['the tracing channel of ioredis', channelTracer],
  ['the instrumentation that patches ioredis', patchTracer],
])('with %s', (_, traceCommands) => {
  test('a lone call is one trace: caller, acquire, command, hold', async () => {
    const locks = await warmLocks()
    const sdk = new Sdk()
    traceCommands(sdk)
    const inside = await sdk.within('caller', () => locks.mutex('lone').run(() => activeSpan()))
    const [caller, acquire, hold] = ['caller', 'acquire lone', 'hold lone'].map((name) =>
      sdk.span(name),
    )
    const [attempt] = sdk.spans.filter(({ name }) => name === 'evalsha')
    if (!caller || !acquire || !hold || !attempt) throw new Error('A span is missing.')
    expect(parentOf(caller)).toBeUndefined()
    expect(parentOf(acquire)).toBe(caller.spanContext().spanId)
    expect(parentOf(attempt)).toBe(acquire.spanContext().spanId)
    expect(parentOf(hold)).toBe(caller.spanContext().spanId)
    expect(inside?.spanContext()).toEqual(hold.spanContext())
    const traces = [caller, acquire, hold, attempt].map((span) => span.spanContext().traceId)
    expect(new Set(traces).size).toBe(1)
    expect(linksOf(acquire)).toEqual([])
  })
})

/** Lets 40 callers acquire in one tick: the first 16 and the others share a command each. */
async function callTogether(sdk: Sdk, locks: Locks) {
  const leases = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      sdk.within(`caller ${index}`, () => locks.mutex(`shared ${index}`).acquire()),
    ),
  )
  const commands = sdk.spans.filter(({ name }) => name === 'evalsha')
  await Promise.all(leases.map((lease) => lease.release()))
  const acquires = leases.map(({ name }) => sdk.span(`acquire ${name}`))
  return { acquires, commands }
}

describe('callers of one tick that share a command', () => {
  test('link to it where its tracer makes it the active span', async () => {
    const locks = await warmLocks()
    const sdk = new Sdk()
    channelTracer(sdk)
    const { acquires, commands } = await callTogether(sdk, locks)
    expect(commands).toHaveLength(2)
    for (const [index, command] of commands.entries()) {
      const { spanId } = command.spanContext()
      const sharing = index === 0 ? acquires.slice(0, 16) : acquires.slice(16)
      const parents = sharing.filter((span) => span.spanContext().spanId === parentOf(command))
      expect(parents).toHaveLength(1)
      for (const span of sharing)
        expect(linksOf(span)).toEqual(parents.includes(span) ? [] : [spanId])
    }
  })

  test('link to the acquire that sends it otherwise', async () => {
    const locks = await warmLocks()
    const sdk = new Sdk()
    patchTracer(sdk)
    const { acquires, commands } = await callTogether(sdk, locks)
    expect(commands).toHaveLength(2)
    for (const [index, command] of commands.entries()) {
      const sharing = index === 0 ? acquires.slice(0, 16) : acquires.slice(16)
      const linked = sharing.flatMap(linksOf)
      expect(linked).toEqual(Array.from({ length: sharing.length - 1 }, () => parentOf(command)))
    }
  })

  test('link to it also when they wait for one lock', async () => {
    const locks = await warmLocks()
    const sdk = new Sdk()
    channelTracer(sdk)
    const calls = ['one', 'other'].map((name) =>
      sdk.within(name, () => locks.mutex('same').run(() => undefined)),
    )
    await Promise.all(calls)
    const [first, second] = sdk.spans.filter(({ name }) => name === 'acquire same')
    const [attempt] = sdk.spans.filter(({ name }) => name === 'evalsha')
    if (!first || !second || !attempt) throw new Error('A span is missing.')
    expect(parentOf(attempt)).toBe(first.spanContext().spanId)
    expect(linksOf(second)).toEqual([attempt.spanContext().spanId])
  })
})

test('a lease that is lost is an event of the callback, and the error of the run has its code', async () => {
  const sdk = new Sdk()
  const world = makeWorld()
  const locks = world.direct()
  await outcomeOf(
    locks.mutex('a').run(async (lease) => {
      await world.store.steal('a', { now: true })
      await outcomeOf(lease.renew())
      lease.assertHeld()
    }),
  )
  const { events, attributes, status } = sdk.span('hold a')
  expect(events.map(({ name }) => name)).toEqual(['holdfast.lease.lost', 'exception'])
  expect(events[0]?.attributes).toEqual({ 'holdfast.loss.reason': 'stolen' })
  expect(attributes['error.type']).toBe('LOCK_LOST')
  expect(status.code).toBe(SpanStatusCode.ERROR)
})

test('a timeout is an error of its span; a busy lock and an abort are answers', async () => {
  const sdk = new Sdk()
  const world = makeWorld()
  await world.direct().mutex('a').acquire()
  const locks = world.client()
  const signal = AbortSignal.abort()
  const calls = [{ waitMs: 20 }, { waitMs: 0 }, { signal }].map((options) =>
    outcomeOf(locks.mutex('a').acquire(options)),
  )
  await world.clock.until(Promise.all(calls))
  const found = sdk.spans.slice(1).map(({ attributes, status }) => ({
    outcome: attributes['holdfast.outcome'],
    type: attributes['error.type'],
    isError: status.code === SpanStatusCode.ERROR,
  }))
  expect(found).toEqual([
    { outcome: 'aborted', type: undefined, isError: false },
    { outcome: 'busy', type: undefined, isError: false },
    { outcome: 'timeout', type: 'LOCK_TIMEOUT', isError: true },
  ])
})

test('stop ends the spans that are open', async () => {
  const sdk = new Sdk()
  const world = makeWorld()
  const locks = world.direct()
  await locks.mutex('a').run(async () => {
    sdk.stop()
    await locks.mutex('b').acquire()
  })
  expect(sdk.spans.map(({ name }) => name)).toEqual(['acquire a', 'hold a'])
})
