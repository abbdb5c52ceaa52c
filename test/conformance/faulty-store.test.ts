/** `FaultyStore` applies the planned faults, and no others. */
import { FaultyStore, Gate, planFor, planForFirst, VirtualClock, type Plan } from 'holdfast/testing'
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
  const holders = () => inner.inspect(['lock'])
  const held = async () => (await holders()).length === 1
  return { clock, inner, store, held }
}

/** Returns an object with the state of the promise, which changes when it settles. */
function peek(promise: Promise<unknown>): { state: string } {
  const seen = { state: 'pending' }
  promise.then(
    () => (seen.state = 'answered'),
    (error: { code: string }) => (seen.state = error.code),
  )
  return seen
}

describe('a store with faults', () => {
  test('delivers every message without a fault', async () => {
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

  test('rejects a dropped message with `fails`', async () => {
    for (const drop of ['request', 'reply'] as const) {
      const { store, held } = setUp(planFor({ attempt: { drop, fails: true } }))
      await expect(store.attempt(CLAIM, QUEUE)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(await held()).toBe(drop === 'reply')
    }
  })

  test('rejects after its request timeout', async () => {
    for (const fate of [{ drop: 'request' }, { drop: 'reply' }, { replyMs: 1000 }] as const) {
      const { clock, store } = setUp(planFor({ attempt: fate }), 300)
      const seen = peek(store.attempt(CLAIM, QUEUE))
      await clock.advance(299)
      expect(seen.state).toBe('pending')
      await clock.advance(1)
      expect(seen.state).toBe('STORE_UNAVAILABLE')
    }
  })

  test('delays requests and replies', async () => {
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

  test('lets a later message overtake a held one', async () => {
    const gate = new Gate()
    const { store, held } = setUp(planFor({ attempt: { holdRequest: gate.opened } }))
    const attempt = store.attempt(CLAIM, QUEUE)
    expect(await store.withdraw(CLAIM)).toBe('absent')
    gate.open()
    expect(await attempt).toEqual({ outcome: 'withdrawn' })
    expect(await held()).toBe(false)
  })

  test('delivers a message twice', async () => {
    const { clock, store, inner, held } = setUp(planForFirst('withdraw', { againAfterMs: 50 }))
    await store.attempt(CLAIM, QUEUE)
    expect(await store.withdraw(CLAIM)).toBe('released')
    inner.attempt({ ...CLAIM, id: 'two' }, QUEUE)
    await clock.advance(100)
    expect(await held()).toBe(true)
  })

  test('applies planForFirst to the first messages only', async () => {
    const { store } = setUp(planForFirst('renew', { drop: 'request', fails: true }, 2))
    await store.attempt(CLAIM, QUEUE)
    await expect(store.renew([CLAIM])).rejects.toThrow()
    await expect(store.renew([CLAIM])).rejects.toThrow()
    expect(await store.renew([CLAIM])).toEqual([{ outcome: 'renewed' }])
  })

  test('passes on refusals', async () => {
    const { store } = setUp(planFor({}))
    await store.attempt(CLAIM, QUEUE)
    const other = { ...CLAIM, id: 'two', kind: 'semaphore', capacity: 2 } as const
    await expect(store.attempt(other, QUEUE)).rejects.toMatchObject({ code: 'LOCK_MISMATCH' })
  })

  test('loses and delays wake-ups, and sends none after the watch was closed', async () => {
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
