/** Waiters that die, and grants to them. */
import assert from 'node:assert/strict'
import { Group } from '../../case.js'
import type { Context } from '../../context.js'
import { leaseExpiry, push, queue, readWriteLock } from '../../needs.js'
import { CAPACITY_ALL, type Claim, HEARTBEATS_TO_LIVE, type PushedGrant } from 'holdfast/store'

export const waiting = new Group('waiting', [queue])

/** Returns a claim with a short heartbeat and a long TTL. */
function withShortHeartbeat(context: Context, overrides: Partial<Claim> = {}): Claim {
  return context.claim({ heartbeatMs: context.shortMs / 3, ...overrides })
}

waiting.test(
  'a waiter without heartbeats loses its place',
  async (context) => {
    const [holder, dead, alive] = [context.claim(), withShortHeartbeat(context), context.claim()]
    await context.take(holder)
    await context.queue(dead)
    await context.queue(alive)
    await context.time.pass(dead.heartbeatMs * HEARTBEATS_TO_LIVE + 20)
    await context.withdraw(holder)
    // Its next heartbeat comes too late: the store granted the next waiter.
    assert.notEqual((await context.attempt(dead)).outcome, 'granted')
    await context.granted(alive, context.slackMs)
  },
  { needs: [leaseExpiry] },
)

waiting.test(
  'a dead waiter does not block the waiters behind it that fit beside the holder',
  async (context) => {
    const shape = { kind: 'readWriteLock', capacity: CAPACITY_ALL, weight: 1 } as const
    const deadWriter = withShortHeartbeat(context, { ...shape, weight: CAPACITY_ALL })
    const [holder, reader] = [context.claim(shape), context.claim(shape)]
    await context.take(holder)
    await context.queue(deadWriter)
    await context.queue(reader)
    await context.granted(reader, deadWriter.heartbeatMs * HEARTBEATS_TO_LIVE + context.slackMs)
  },
  { needs: [leaseExpiry, readWriteLock] },
)

waiting.test(
  'a waiter with heartbeats keeps its place for longer than its TTL',
  async (context) => {
    const [holder, waiter] = [
      context.claim(),
      context.claim({ ttlMs: context.shortMs, heartbeatMs: 1000 }),
    ]
    await context.take(holder)
    await context.queue(waiter)
    const other = context.claim()
    await context.queue(other)
    const untilMs = context.time.nowMs() + 3000 + context.shortMs
    while (context.time.nowMs() < untilMs) {
      await context.time.pass(200)
      await context.queue(waiter)
      await context.queue(other)
    }
    await context.withdraw(holder)
    assert.equal((await context.attempt(other)).outcome, 'waiting')
    await context.granted(waiter, context.slackMs)
  },
  { needs: [leaseExpiry] },
)

waiting.test(
  'a grant to a dead waiter ends after three heartbeats, not after its TTL',
  async (context) => {
    const [holder, dead, next] = [context.claim(), withShortHeartbeat(context), context.claim()]
    await context.take(holder)
    await context.queue(dead)
    await context.queue(next)
    await context.withdraw(holder)
    const limitMs = dead.heartbeatMs * HEARTBEATS_TO_LIVE + context.slackMs
    assert.ok(limitMs < context.longMs, 'the TTL is too short to see the difference')
    await context.granted(next, limitMs)
  },
  { needs: [leaseExpiry] },
)

waiting.test(
  "the first renewal of a waiter's grant extends it to its whole TTL",
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim({ heartbeatMs: 1000 })]
    await context.take(holder)
    await context.queue(waiter)
    await context.withdraw(holder)
    await context.granted(waiter, context.slackMs)
    const [result] = await context.store.renew([waiter])
    assert.equal(result?.outcome, 'renewed')
    const { remainingMs } = await context.granted(waiter, context.slackMs)
    const provisionalMs = waiter.heartbeatMs * HEARTBEATS_TO_LIVE
    assert.ok(remainingMs > provisionalMs, `${remainingMs} ms are left of ${waiter.ttlMs}`)
  },
  { needs: [leaseExpiry] },
)

waiting.test('a grant to a waiter reports how long it really lasts', async (context) => {
  const [holder, waiter] = [context.claim(), context.claim({ heartbeatMs: 1000 })]
  await context.take(holder)
  await context.queue(waiter)
  await context.withdraw(holder)
  const granted = await context.granted(waiter, context.slackMs)
  assert.ok(granted.ttlMs <= waiter.ttlMs, 'a grant lasts longer than its claim asked for')
  assert.ok(granted.remainingMs <= granted.ttlMs)
  const { remainingMs } = await context.granted(waiter, context.slackMs)
  assert.ok(remainingMs <= granted.remainingMs, 'an attempt that reports a grant has extended it')
})

waiting.test(
  'a waiter is woken when it is granted',
  async (context) => {
    const other = await context.open()
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter, other)
    let wakes = 0
    let pushed: PushedGrant | undefined
    const watch = other.watch(waiter, (grant) => {
      wakes += 1
      pushed ??= grant
    })
    await watch.ready
    await context.withdraw(holder)
    await context.time.eventually('the waiter is woken', context.slackMs, () => wakes > 0)
    watch.close()
    const granted = await context.granted(waiter, context.slackMs, other)
    if (pushed) assert.equal(pushed.token, granted.token, 'the pushed grant is another one')
  },
  { needs: [push] },
)

waiting.test(
  'locks that are released in one tick are handed over at once, each to its next waiter',
  async (context) => {
    const other = await context.open()
    const locks = ['a', 'b', 'c', 'd'].map((part) => context.name(part))
    const holders = locks.map((lock) => context.claim({ lock }))
    const waiters = locks.map((lock) => context.claim({ lock }))
    const woken = new Set<string>()
    for (const holder of holders) await context.take(holder)
    for (const waiter of waiters) {
      await context.queue(waiter, other)
      await other.watch(waiter, () => void woken.add(waiter.lock)).ready
    }
    const outcomes = await Promise.all(holders.map((holder) => context.withdraw(holder)))
    assert.deepEqual(
      outcomes,
      locks.map(() => 'released'),
    )
    await context.time.eventually(
      'all waiters are woken',
      context.slackMs,
      () => woken.size === locks.length,
    )
    for (const waiter of waiters) await context.granted(waiter, context.slackMs, other)
  },
  { needs: [push] },
)

waiting.test(
  'a closed watch wakes no waiter',
  async (context) => {
    const [holder, waiter] = [context.claim(), context.claim()]
    await context.take(holder)
    await context.queue(waiter)
    let wakes = 0
    const watch = context.store.watch(waiter, () => (wakes += 1))
    await watch.ready
    watch.close()
    await context.withdraw(holder)
    await context.granted(waiter, context.slackMs)
    assert.equal(wakes, 0)
  },
  { needs: [push] },
)

waiting.test('the waiting time in inspect counts from the first attempt', async (context) => {
  const [holder, waiter] = [context.claim(), context.claim()]
  await context.take(holder)
  await context.queue(waiter)
  await context.time.pass(50)
  await context.queue(waiter)
  const waitedMs = (await context.inspect())?.waiters[0]?.waitedMs ?? 0
  assert.ok(waitedMs >= 40, `waited ${waitedMs} ms`)
})
