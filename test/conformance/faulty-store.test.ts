/** The store with faults does what it is told, and nothing else. */
import {
  FaultyStore,
  Gate,
  planFor,
  planForFirst,
  VirtualClock,
  type Plan,
} from 'holdfast/conformance'
import { memoryStore } from 'holdfast/memory'
import { CAPACITY_ALL, type Claim } from 'holdfast/store'
import { describe, expect, test } from 'vitest'

const CLAIM: Claim = {
  lock: 'lock',
  id: 'one',
  kind: 'mutex',
  capacity: CAPACITY_ALL,
  weight: CAPACITY_ALL,
  ttlMs: 10_000,
  heartbeatMs: 1000,
  owner: { clientId: 'client', host: 'host', pid: 1 },
}
const QUEUE = { enqueue: true, tokens: 1 }

function setUp(plan: Plan, requestTimeoutMs?: number) {
  const clock = new VirtualClock()
  const inner = memoryStore({ clock, tombstonesPerLock: 100 })
  const store = new FaultyStore(inner, {
    clock,
    plan,
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
  })
  const holders = () => inner.inspect({ lock: 'lock' })
  const held = async () => (await holders()).locks.length === 1
  return { clock, inner, store, held }
}

/** What a promise has come to by now. */
function peek(promise: Promise<unknown>): { state: string } {
  const seen = { state: 'pending' }
  promise.then(
    () => (seen.state = 'answered'),
    (error: { code: string }) => (seen.state = error.code),
  )
  return seen
}

describe('a store with faults', () => {
  test('without any delivers', async () => {
    const { store, held } = setUp(planFor({}))
    expect(await store.attempt(CLAIM, QUEUE)).toMatchObject({
      outcome: 'granted',
      alreadyGranted: false,
    })
    expect(await held()).toBe(true)
    expect(await store.renew([CLAIM])).toEqual([{ outcome: 'renewed' }])
    expect(await store.withdraw(CLAIM)).toBe('released')
    expect(store.sent.map(({ message }) => message.verb)).toEqual(['attempt', 'renew', 'withdraw'])
  })

  test('drops a request before it arrives', async () => {
    const { clock, store, held } = setUp(planFor({ attempt: { drop: 'request' } }))
    const seen = peek(store.attempt(CLAIM, QUEUE))
    await clock.advance(60_000)
    expect(seen.state).toBe('pending')
    expect(await held()).toBe(false)
  })

  test('drops a reply after the request arrived', async () => {
    const { clock, store, held } = setUp(planFor({ attempt: { drop: 'reply' } }))
    const seen = peek(store.attempt(CLAIM, QUEUE))
    await clock.advance(100)
    expect(seen.state).toBe('pending')
    expect(await held()).toBe(true)
  })

  test('tells of what it dropped, if it is to', async () => {
    for (const drop of ['request', 'reply'] as const) {
      const { store, held } = setUp(planFor({ attempt: { drop, tell: true } }))
      await expect(store.attempt(CLAIM, QUEUE)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(await held()).toBe(drop === 'reply')
    }
  })

  test('gives up on an answer after its timeout', async () => {
    for (const fate of [{ drop: 'request' }, { drop: 'reply' }, { replyMs: 1000 }] as const) {
      const { clock, store } = setUp(planFor({ attempt: fate }), 300)
      const seen = peek(store.attempt(CLAIM, QUEUE))
      await clock.advance(299)
      expect(seen.state).toBe('pending')
      await clock.advance(1)
      expect(seen.state).toBe('STORE_UNAVAILABLE')
    }
  })

  test('delays each way', async () => {
    const { clock, store, held } = setUp(planFor({ attempt: { requestMs: 20, replyMs: 30 } }))
    const seen = peek(store.attempt(CLAIM, QUEUE))
    await clock.advance(19)
    expect(await held()).toBe(false)
    await clock.advance(1)
    expect(await held()).toBe(true)
    await clock.advance(29)
    expect(seen.state).toBe('pending')
    await clock.advance(1)
    expect(seen.state).toBe('answered')
  })

  test('lets a later message overtake one that it holds back', async () => {
    const gate = new Gate()
    const { store, held } = setUp(planFor({ attempt: { holdRequest: gate.opened } }))
    const attempt = store.attempt(CLAIM, QUEUE)
    expect(await store.withdraw(CLAIM)).toBe('absent')
    gate.open()
    expect(await attempt).toEqual({ outcome: 'withdrawn' })
    expect(await held()).toBe(false)
  })

  test('delivers twice', async () => {
    const { clock, store, inner, held } = setUp(planForFirst('withdraw', { againAfterMs: 50 }))
    await store.attempt(CLAIM, QUEUE)
    expect(await store.withdraw(CLAIM)).toBe('released')
    inner.attempt({ ...CLAIM, id: 'two' }, QUEUE)
    await clock.advance(100)
    expect(await held()).toBe(true)
  })

  test('strikes the first messages only, if it is to', async () => {
    const { store } = setUp(planForFirst('renew', { drop: 'request', tell: true }, 2))
    await store.attempt(CLAIM, QUEUE)
    await expect(store.renew([CLAIM])).rejects.toThrow()
    await expect(store.renew([CLAIM])).rejects.toThrow()
    expect(await store.renew([CLAIM])).toEqual([{ outcome: 'renewed' }])
  })

  test('passes refusals on', async () => {
    const { store } = setUp(planFor({}))
    await store.attempt(CLAIM, QUEUE)
    const other = { ...CLAIM, id: 'two', kind: 'semaphore', capacity: 2 } as const
    await expect(store.attempt(other, QUEUE)).rejects.toMatchObject({ code: 'LOCK_MISMATCH' })
  })

  test('loses and delays wake-ups, and none comes after the watch was closed', async () => {
    for (const [fate, expected] of [
      [{}, [0]],
      [{ drop: 'request' }, []],
      [{ requestMs: 40 }, [40]],
    ] as const) {
      const { clock, store } = setUp(planFor({ wake: fate }))
      await store.attempt(CLAIM, QUEUE)
      const waiter = { ...CLAIM, id: 'two' }
      await store.attempt(waiter, QUEUE)
      const wokenMs: number[] = []
      const watch = store.watch(waiter, () => wokenMs.push(clock.monotonicMs()))
      await store.withdraw(CLAIM)
      await clock.advance(100)
      expect(wokenMs).toEqual(expected)
      watch.close()
    }
  })
})
