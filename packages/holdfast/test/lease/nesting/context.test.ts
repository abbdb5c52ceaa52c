/** Re-entrancy: the owner of a lock is the async context. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createLocks, LockUsageError, onLockEvent, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test, vi } from 'vitest'
import { remaining } from '../../support/garbage.js'
import { deferred, makeWorld, outcomeOf } from '../../support/world.js'

function setUp(): { locks: Locks; world: ReturnType<typeof makeWorld> } {
  const world = makeWorld()
  return { locks: world.direct(), world }
}

describe('a nested run', () => {
  test('on an exclusive lock fails at once without reentrant', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a')
    const outcome = await outcomeOf(mutex.run(() => mutex.run(() => 'never')))
    expect(outcome).toMatchObject({ error: { code: 'LOCK_USAGE', lock: 'a' } })
    expect(await mutex.tryAcquire()).toBeDefined()
  })

  test('re-enters with reentrant, at no cost in the store', async () => {
    const world = makeWorld()
    const mutex = world.client().mutex('a', { reentrant: true })
    const tokens = await world.clock.until(
      mutex.run((outer) => mutex.run((inner) => [outer.token, inner.token])),
    )
    expect(tokens[0]).toBe(tokens[1])
    expect(world.wire.sent.map(({ verb }) => verb)).toEqual(['attempt', 'withdraw'])
  })

  test('through another handle of the same name re-enters too', async () => {
    const { locks } = setUp()
    const value = await locks
      .mutex('a', { reentrant: true })
      .run(() => locks.mutex('a', { reentrant: true }).run(() => 7))
    expect(value).toBe(7)
  })

  test('siblings take turns: exclusion holds among them', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    let inside = 0
    let most = 0
    const sibling = async (): Promise<void> => {
      inside += 1
      most = Math.max(most, inside)
      await new Promise((resolve) => void setImmediate(resolve))
      inside -= 1
    }
    await mutex.run(() => Promise.all([mutex.run(sibling), mutex.run(sibling), mutex.run(sibling)]))
    expect(most).toBe(1)
  })

  test('a sibling that waits for its turn can give up', async () => {
    const { locks, world } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    const gate = deferred()
    const outcomes = mutex.run(() =>
      Promise.all([
        outcomeOf(mutex.run(() => gate.promise)),
        outcomeOf(mutex.run(() => 'too late', { waitMs: 100 })),
      ]),
    )
    await world.clock.advance(200)
    gate.resolve()
    expect(await outcomes).toMatchObject([
      { value: undefined },
      { error: { code: 'LOCK_TIMEOUT' } },
    ])
  })

  test.each(['released', 'stolen'])(
    'siblings all have their turn when the lease is %s',
    async (how) => {
      const { locks, world } = setUp()
      const mutex = locks.mutex('a', { reentrant: true })
      const order: string[] = []
      const siblings = mutex.run(async (lease) => {
        const lost = new Promise((resolve) => {
          lease.signal.addEventListener('abort', resolve)
        })
        const all = deferred()
        const first = mutex.run(async () => {
          await all.promise
          if (how === 'released') await lease.release()
          else await Promise.all([locks.steal('a', { now: true }), lost])
          order.push('first')
        })
        const later = ['second', 'third', 'fourth'].map((name) => mutex.run(() => order.push(name)))
        all.resolve()
        await Promise.all([first, ...later])
      })
      await outcomeOf(world.clock.until(siblings))
      expect(order).toEqual(['first', 'second', 'third', 'fourth'])
    },
  )

  test('of a third level re-enters the innermost frame', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    expect(await mutex.run(() => mutex.run(() => mutex.run(() => 3)))).toBe(3)
  })

  test('by a promise that outlives the run waits like any other caller', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    const gate = deferred()
    let late: Promise<unknown> = Promise.resolve()
    await mutex.run(() => {
      late = gate.promise.then(() => mutex.run((lease) => lease.token))
    })
    const holder = await mutex.acquire()
    gate.resolve()
    const early = await Promise.race([
      late,
      new Promise((resolve) => void setImmediate(() => resolve('waits'))),
    ])
    expect(early).toBe('waits')
    await holder.release()
    expect(await late).toBeGreaterThan(holder.token)
  })

  test('after the lease was released inside the callback acquires again', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a')
    const tokens = await mutex.run(async (lease) => {
      await lease.release()
      return mutex.run((next) => [lease.token, next.token])
    })
    expect(tokens[1]).toBeGreaterThan(tokens[0] ?? 0n)
  })

  test('an acquire cannot re-enter, and is refused', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    const outcome = await outcomeOf(mutex.run(() => mutex.acquire()))
    expect(outcome).toMatchObject({ error: { code: 'LOCK_USAGE' } })
  })

  test('lease.run opens a frame for an acquired lease', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    const lease = await mutex.acquire()
    expect(await lease.run(() => mutex.run((inner) => inner.token))).toBe(lease.token)
    expect(lease.held).toBe(true)
    await lease.release()
  })

  test.each(['object', 'promise'])('by a lazy %s re-enters', async (kind) => {
    const { locks } = setUp()
    const mutex = locks.mutex('a', { reentrant: true })
    const value = await mutex.run(({ token }) => {
      const begin = async (): Promise<boolean> =>
        (await mutex.run((inner) => inner.token)) === token
      const lazy = kind === 'object' ? {} : Promise.resolve(false)
      // Query builders and client libraries begin to work when their `then` is called.
      return Object.assign(lazy, {
        then: (resolve: (value: boolean) => void, reject: (reason: unknown) => void) =>
          begin().then(resolve, reject),
      }) as PromiseLike<boolean>
    })
    expect(value).toBe(true)
  })

  test('detached work holds nothing', async () => {
    const { locks } = setUp()
    const mutex = locks.mutex('a')
    let detached: Promise<string> = Promise.resolve('')
    await mutex.run(() => {
      detached = locks.detached(() => mutex.run(() => 'after the run'))
    })
    expect(await detached).toBe('after the run')
  })
})

describe('a nested run that no caller awaits', () => {
  test.each([
    ['readers', (locks: Locks) => locks.readWriteLock('a').read],
    ['the holder of a mutex', (locks: Locks) => locks.mutex('a', { reentrant: true })],
  ])(
    'keeps the lock for %s until it has ended, though the run around it failed',
    async (_, lockOf) => {
      const { locks, world } = setUp()
      const lock = lockOf(locks)
      const gate = deferred()
      let nested: Promise<boolean> | undefined
      const outer = outcomeOf(
        lock.run(() => {
          nested = lock.run(async (lease) => {
            await gate.promise
            return lease.held
          })
          throw new Error('the other one failed')
        }),
      )
      const writer = world.direct().readWriteLock('a').write
      await world.clock.advance(5)
      expect(await writer.tryAcquire()).toBeUndefined()
      gate.resolve()
      expect(await nested).toBe(true)
      expect(await outer).toMatchObject({ error: { message: 'the other one failed' } })
      expect(await writer.tryAcquire()).toBeDefined()
    },
  )

  test('does not keep the run around it waiting when the lock was lost, or released', async () => {
    const { locks, world } = setUp()
    const lock = locks.readWriteLock('a').read
    const endless = new Promise<never>(() => undefined)
    const stolen = lock.run(() => void lock.run(() => endless).catch(() => undefined))
    await world.clock.advance(5)
    await world.store.steal('a', { now: true })
    await world.clock.until(stolen)
    const givenBack = lock.run(async (lease) => {
      void lock.run(() => endless).catch(() => undefined)
      await lease.release()
    })
    await world.clock.until(givenBack)
  })
})

describe('work that begins its next run', () => {
  test('out of the last one drags none of the leases behind it that it had', async () => {
    const { locks } = setUp()
    const leases: WeakRef<object>[] = []
    const dragged = await new Promise<number>((resolve) => {
      const again = (): void =>
        void locks.mutex('a').run((lease) => {
          leases.push(new WeakRef(lease))
          if (leases.length < 50) setImmediate(again)
          // Out of its own context, which is what would drag them.
          else setImmediate(() => resolve(remaining(leases)))
        })
      again()
    })
    expect(dragged).toBeLessThan(5)
  })

  test('before the last one ends, hand over hand, does so neither', async () => {
    const { locks } = setUp()
    const leases: WeakRef<object>[] = []
    const dragged = await new Promise<number>((resolve) => {
      const again = (): void =>
        void locks.mutex(`${leases.length}`).run(async (lease) => {
          leases.push(new WeakRef(lease))
          if (leases.length < 50) setImmediate(again)
          else setImmediate(() => resolve(remaining(leases)))
          // Until the next one has begun.
          await new Promise(setImmediate)
          await new Promise(setImmediate)
        })
      again()
    })
    expect(dragged).toBeLessThan(5)
  })
})

describe('a nested run that has to wait', () => {
  test('waits no longer in all than it was to, though its frame ended under it', async () => {
    const { locks, world } = setUp()
    const { clock } = world
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => void clock.timer(ms, resolve))
    const mutex = locks.mutex('a', { reentrant: true })
    const other = world.direct().mutex('a')
    let nested: Promise<unknown> = Promise.resolve()
    const startedMs = clock.monotonicMs()
    const run = mutex.run(async () => {
      void locks.detached(() => outcomeOf(other.acquire()))
      void outcomeOf(mutex.run(() => pause(600)))
      nested = outcomeOf(mutex.run(() => 1, { waitMs: 500 }))
      await pause(450)
    })
    await clock.advance(1)
    expect(await clock.until(nested)).toMatchObject({
      error: { code: 'LOCK_TIMEOUT', waitMs: 500 },
    })
    expect(clock.monotonicMs() - startedMs).toBeLessThan(520)
    await clock.until(run)
  })
})

test('a semaphore refuses what its own context can never get', async () => {
  const { locks } = setUp()
  const gpu = locks.semaphore('gpu', { permits: 3 })
  expect(await gpu.run(() => gpu.run(() => 'two', { weight: 1 }), { weight: 2 })).toBe('two')
  const outcome = await outcomeOf(
    gpu.run(() => gpu.run(() => undefined, { weight: 2 }), { weight: 2 }),
  )
  expect(outcome).toHaveProperty('error')
  if ('error' in outcome) expect(outcome.error).toBeInstanceOf(LockUsageError)
})

/** In real time: a clock that a test moves on calls back in the context of the test. */
describe('who is called back out of a timer that many share', () => {
  const TTL_MS = 150

  test.each(['a signal', 'an event'])(
    'through %s holds nothing that another task holds',
    async (how) => {
      const locks = createLocks(memoryStore())
      const mutex = locks.mutex('a', { reentrant: true })
      const lost = await locks.mutex('lost', { ttlMs: TTL_MS, renew: false }).acquire()
      const seen = deferred<boolean>()
      const onLoss = (): void => {
        const entered = mutex.run(() => true, { waitMs: 0 })
        void entered.catch(() => false).then(seen.resolve)
      }
      if (how === 'a signal') lost.signal.addEventListener('abort', onLoss)
      const stopListening = how === 'an event' ? onLockEvent('lost', onLoss) : undefined
      // What it acquires winds up the timer that watches all leases.
      await mutex.run(async () => {
        await locks.mutex('shorter', { ttlMs: TTL_MS / 2, renew: false }).acquire()
        expect(await seen.promise).toBe(false)
      })
      stopListening?.()
      await locks.close()
    },
  )

  test('through a signal finds itself where it asked for the signal', async () => {
    const requests = new AsyncLocalStorage<string>()
    const locks = createLocks(memoryStore())
    const seen = deferred<string | undefined>()
    await requests.run('first', async () => {
      const lease = await locks.mutex('a', { ttlMs: TTL_MS, renew: false }).acquire()
      lease.signal.addEventListener('abort', () => seen.resolve(requests.getStore()))
    })
    await requests.run('second', () =>
      locks.mutex('b', { ttlMs: TTL_MS / 2, renew: false }).acquire(),
    )
    expect(await seen.promise).toBe('first')
    await locks.close()
  })

  test('sends renewals and heartbeats outside of the context of the request that began them', async () => {
    const requests = new AsyncLocalStorage<string>()
    const store = memoryStore()
    const asked: { verb: string; by: string | undefined }[] = []
    const [attempt, renew] = [store.attempt.bind(store), store.renew.bind(store)]
    store.attempt = (...args) => (
      asked.push({ verb: 'attempt', by: requests.getStore() }),
      attempt(...args)
    )
    store.renew = (...args) => (
      asked.push({ verb: 'renew', by: requests.getStore() }),
      renew(...args)
    )
    const [one, two] = [
      createLocks(store, { ttlMs: TTL_MS }),
      createLocks(store, { ttlMs: TTL_MS }),
    ]
    const lease = await requests.run('first', () => one.mutex('a').acquire())
    const waiting = requests.run('second', () => two.mutex('a').acquire())
    await vi.waitFor(() => {
      expect(asked.filter(({ verb }) => verb === 'renew').length).toBeGreaterThan(0)
      expect(asked.filter(({ verb }) => verb === 'attempt').length).toBeGreaterThan(2)
    })
    expect(asked.filter(({ by }) => by !== undefined)).toEqual([
      { verb: 'attempt', by: 'first' },
      { verb: 'attempt', by: 'second' },
    ])
    await lease.release()
    await waiting
    await Promise.all([one.close(), two.close()])
  })
})
