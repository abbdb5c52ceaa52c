/** Deadlocks: one wait of each cycle fails, and the others get their locks. */
import {
  createLocks,
  DeadlockError,
  LockUsageError,
  onLockEvent,
  type LockOptions,
  type Clock,
  type Locks,
} from 'holdfast'
import { SeededRandom } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { deferred, makeWorld, outcomeOf, type World } from '../../support/world.js'

type Outcome = Awaited<ReturnType<typeof outcomeOf>>

/** Takes the locks one inside the other. All members of a deadlock hold their first one by then. */
function nested(
  locks: Locks,
  names: readonly string[],
  { ready, options }: { ready: () => Promise<void>; options?: LockOptions },
): Promise<Outcome> {
  const [first = '', ...rest] = names
  const inner = (left: readonly string[]): Promise<string> => {
    const [name, ...others] = left
    if (name === undefined) return Promise.resolve('done')
    return locks.mutex(name, options).run(() => inner(others))
  }
  return outcomeOf(
    locks.mutex(first, options).run(async () => {
      await ready()
      return inner(rest)
    }),
  )
}

function permits(locks: Locks): ReturnType<Locks['semaphore']> {
  return locks.semaphore('pool', { permits: 2 })
}

interface Call {
  readonly verb: string
  readonly argument: unknown
}

/** Returns a client that reports each call of its store, which answers at once. */
function observed(world: World, report: (call: Call) => void): Locks {
  const store = new Proxy(world.store, {
    get(target, verb: keyof typeof world.store) {
      const member: unknown = target[verb]
      if (typeof member !== 'function') return member
      return (argument: unknown, ...rest: unknown[]): unknown => {
        report({ verb, argument })
        return member.call(target, argument, ...rest) as unknown
      }
    },
  })
  return createLocks(store, { clock: world.clock, random: new SeededRandom(1) })
}

/** A clock each look at which takes a microsecond, and whose timers fire early, as Node's may. */
function hasty({ clock }: World, earlyUs: number): Clock {
  let looks = 0
  return {
    monotonicMs: () => clock.monotonicMs() + (looks += 1) / 1000,
    wallMs: () => clock.wallMs(),
    timer: (delayMs, fire) => clock.timer(Math.max(0, delayMs - earlyUs / 1000), fire),
  }
}

/** Resolves when it was called this many times. */
function barrier(count: number): () => Promise<void> {
  const gate = deferred()
  let left = count
  return () => {
    left -= 1
    if (left === 0) gate.resolve()
    return gate.promise
  }
}

function deadlocks(outcomes: readonly Outcome[]): DeadlockError[] {
  return outcomes.flatMap((outcome) =>
    'error' in outcome && outcome.error instanceof DeadlockError ? [outcome.error] : [],
  )
}

/** Closes a deadlock of clients. Returns the outcomes, and the time until the last one. */
async function closeCycle(
  world: World,
  clients: readonly Locks[],
  options?: LockOptions,
): Promise<{ outcomes: Outcome[]; tookMs: number }> {
  const ready = barrier(clients.length)
  const startMs = world.clock.monotonicMs()
  const runs = clients.map((locks, index) =>
    nested(locks, [`lock-${index}`, `lock-${(index + 1) % clients.length}`], {
      ready,
      ...(options ? { options } : {}),
    }),
  )
  const outcomes = await world.clock.until(Promise.all(runs))
  return { outcomes, tookMs: world.clock.monotonicMs() - startMs }
}

describe('inside one client', () => {
  test('a deadlock of two fails its last wait at once', async () => {
    const world = makeWorld()
    const locks = world.direct()
    const { outcomes, tookMs } = await closeCycle(world, [locks, locks])
    const [error, ...more] = deadlocks(outcomes)
    expect(more).toEqual([])
    expect(error).toMatchObject({
      code: 'DEADLOCK',
      lock: 'lock-0',
      cycle: [
        { lock: 'lock-0', waitsFor: 'lock-1', pid: process.pid, clientId: locks.clientId },
        { lock: 'lock-1', waitsFor: 'lock-0', pid: process.pid, clientId: locks.clientId },
      ],
    })
    expect(outcomes).toContainEqual({ value: 'done' })
    expect(tookMs).toBe(0)
  })

  test('the store may answer late: the wait that closes the deadlock fails all the same', async () => {
    const world = makeWorld()
    const locks = world.client()
    world.wire.latencyMs = 50
    const { outcomes, tookMs } = await closeCycle(world, [locks, locks, locks])
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(tookMs).toBeLessThan(1000)
  })

  test('the same order everywhere is no deadlock', async () => {
    const world = makeWorld()
    const locks = world.client()
    const runs = Array.from({ length: 10 }, () =>
      nested(locks, ['a', 'b', 'c'], { ready: () => Promise.resolve() }),
    )
    const outcomes = await world.clock.until(Promise.all(runs))
    expect(outcomes).toEqual(runs.map(() => ({ value: 'done' })))
  })

  test('a detached acquire waits under no lease', async () => {
    const world = makeWorld()
    const locks = world.direct()
    const ready = barrier(2)
    const one = outcomeOf(
      locks.mutex('a').run(async () => {
        await ready()
        return locks.detached(() => locks.mutex('b').run(() => 'done', { waitMs: 5000 }))
      }),
    )
    const other = nested(locks, ['b', 'a'], { ready })
    const outcomes = await world.clock.until(Promise.all([one, other]))
    expect(outcomes).toMatchObject([{ error: { code: 'LOCK_TIMEOUT' } }, { value: 'done' }])
  })
})

describe('across clients', () => {
  test.each([2, 5])('a deadlock of %i is found within two seconds', async (count) => {
    const world = makeWorld()
    const clients = Array.from({ length: count }, (_, index) =>
      world.client({ label: `job ${index}` }),
    )
    const { outcomes, tookMs } = await closeCycle(world, clients)
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes.filter((outcome) => 'value' in outcome)).toHaveLength(count - 1)
    expect(tookMs).toBeLessThan(2000)
  })

  test('the deadlock is shown with its locks, processes and labels', async () => {
    const world = makeWorld()
    const clients = ['baker', 'miller'].map((label) => world.client({ label }))
    const { outcomes } = await closeCycle(world, clients)
    const [error] = deadlocks(outcomes)
    expect(error?.message).toMatch(
      /^The wait for "lock-\d" would never end: pid \d+ on \S+ \("(baker|miller)"\) holds "lock-\d" and waits for "lock-\d"; pid/,
    )
    expect(new Set(error?.cycle.map(({ label }) => label))).toEqual(new Set(['baker', 'miller']))
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'DEADLOCK', lock: error?.lock })
  })

  test.each([50, 300])('a deadlock is found with a store %i ms away', async (latencyMs) => {
    const world = makeWorld()
    world.wire.latencyMs = latencyMs
    const { outcomes } = await closeCycle(world, [world.client(), world.client()])
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes).toContainEqual({ value: 'done' })
  })

  test('a timer that fires a moment early does not end the search', async () => {
    for (let earlyUs = 1; earlyUs <= 60; earlyUs += 1) {
      const world = makeWorld()
      const clients = [1, 2].map(() => createLocks(world.store, { clock: hasty(world, earlyUs) }))
      const { outcomes } = await closeCycle(world, clients)
      expect(deadlocks(outcomes), `${earlyUs} µs`).toHaveLength(1)
    }
  })

  test('cohorts: callers without leases wait behind the deadlock, and get their locks', async () => {
    const world = makeWorld()
    const clients = [world.client(), world.client()]
    const ready = barrier(2)
    const runs = clients.map((locks, index) =>
      nested(locks, [`lock-${index}`, `lock-${1 - index}`], { ready }),
    )
    await world.clock.advance(500)
    const others = clients.flatMap((locks) =>
      ['lock-0', 'lock-1'].map((name) => locks.mutex(name).run(() => name)),
    )
    const outcomes = await world.clock.until(Promise.all(runs))
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(await world.clock.until(Promise.all(others))).toHaveLength(4)
  })

  test('a deadlock of readers and a writer', async () => {
    const world = makeWorld()
    const [one, other] = [world.client(), world.client()]
    const ready = barrier(2)
    const reader = outcomeOf(
      one.readWriteLock('page').read.run(async () => {
        await ready()
        return one.mutex('index').run(() => 'done')
      }),
    )
    const writer = outcomeOf(
      other.mutex('index').run(async () => {
        await ready()
        return other.readWriteLock('page').write.run(() => 'done')
      }),
    )
    const outcomes = await world.clock.until(Promise.all([reader, writer]))
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes).toContainEqual({ value: 'done' })
  })

  test('permits: a holder that does not wait leaves room, so nothing is stuck', async () => {
    const world = makeWorld()
    const [one, other, third] = [world.client(), world.client(), world.client()]
    const ready = barrier(2)
    const free = await world.clock.until(permits(third).acquire())
    const a = outcomeOf(
      permits(one).run(async () => {
        await ready()
        return one.mutex('a').run(() => 'done')
      }),
    )
    const b = outcomeOf(
      other.mutex('a').run(async () => {
        await ready()
        return permits(other).run(() => 'done')
      }),
    )
    await world.clock.advance(5000)
    await world.clock.until(free.release())
    expect(await world.clock.until(Promise.all([a, b]))).toEqual([
      { value: 'done' },
      { value: 'done' },
    ])
  })

  test('permits: a heavy waiter ahead blocks a claim for which there is room', async () => {
    const world = makeWorld()
    const [one, other, heavy] = [world.client(), world.client(), world.client()]
    const ready = barrier(2)
    const inPool = outcomeOf(
      one.semaphore('pool', { permits: 2 }).run(async () => {
        await ready()
        return one.mutex('a').run(() => 'done')
      }),
    )
    const all = deferred()
    const inA = outcomeOf(
      other.mutex('a').run(async () => {
        await ready()
        await all.promise
        return other.semaphore('pool', { permits: 2 }).run(() => 'done')
      }),
    )
    await world.clock.advance(10)
    const wholePool = heavy
      .semaphore('pool', { permits: 2 })
      .withWeight(2)
      .run(() => 'all of it')
    await world.clock.advance(10)
    all.resolve()
    const outcomes = await world.clock.until(Promise.all([inPool, inA]))
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes).toContainEqual({ value: 'done' })
    expect(await world.clock.until(wholePool)).toBe('all of it')
  })

  test('two holders of one permit each that both want another one', async () => {
    const world = makeWorld()
    const ready = barrier(2)
    const runs = [world.client(), world.client()].map((locks) => {
      const pool = locks.semaphore('pool', { permits: 2 })
      return outcomeOf(
        pool.run(async () => {
          await ready()
          return pool.run(() => 'done')
        }),
      )
    })
    const outcomes = await world.clock.until(Promise.all(runs))
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes).toContainEqual({ value: 'done' })
  })

  test('a deadlock through a multi-lock', async () => {
    const world = makeWorld()
    const [one, other] = [world.client(), world.client()]
    const ready = barrier(2)
    const both = outcomeOf(
      one.mutex('z').run(async () => {
        await ready()
        return one.multi([one.mutex('a'), one.mutex('b')]).run(() => 'done')
      }),
    )
    const single = nested(other, ['b', 'z'], { ready })
    const outcomes = await world.clock.until(Promise.all([both, single]))
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes).toContainEqual({ value: 'done' })
  })

  test('a multi-lock that holds its first lock and waits for its second', async () => {
    const world = makeWorld()
    const [one, other] = [world.client(), world.client()]
    const gate = deferred()
    const single = outcomeOf(
      other.mutex('b').run(async () => {
        await gate.promise
        return other.mutex('a').run(() => 'done')
      }),
    )
    await world.clock.advance(10)
    const both = outcomeOf(one.multi([one.mutex('a'), one.mutex('b')]).run(() => 'done'))
    await world.clock.advance(10)
    gate.resolve()
    const outcomes = await world.clock.until(Promise.all([both, single]))
    expect(deadlocks(outcomes)).toHaveLength(1)
    expect(outcomes).toContainEqual({ value: 'done' })
  })

  test.each([900, 1050, 1150])(
    'a deadlock that resolves itself %i ms after it closed is reported before that or never',
    async (waitMs) => {
      const world = makeWorld()
      const [one, other] = [world.client(), world.client()]
      const ready = barrier(2)
      const patient = nested(one, ['a', 'b'], { ready })
      const hasty = outcomeOf(
        other.mutex('b').run(async () => {
          await ready()
          return other.mutex('a').run(() => 'done', { waitMs })
        }),
      )
      const outcomes = await world.clock.until(Promise.all([patient, hasty]))
      expect(outcomes[0]).toEqual({ value: 'done' })
      expect(['LOCK_TIMEOUT', 'DEADLOCK']).toContain(
        (outcomes[1] as { error: { code: string } }).error.code,
      )
    },
  )

  test('no request is sent before a wait of deadlockCheckMs, and none without a wait', async () => {
    const world = makeWorld()
    const inspected: unknown[] = []
    const locks = observed(world, ({ verb, argument }) => {
      if (verb === 'inspect') inspected.push(argument)
    })
    const busy = await world.direct().mutex('b').acquire()
    const run = nested(locks, ['a', 'b'], { ready: () => Promise.resolve() })
    await world.clock.advance(990)
    expect(inspected).toEqual([])
    await world.clock.advance(1000)
    expect(inspected.length).toBeGreaterThan(1)
    expect(inspected).toEqual(inspected.map(() => ['b']))
    await busy.release()
    expect(await world.clock.until(run)).toEqual({ value: 'done' })
    const { length } = inspected
    await world.clock.advance(10_000)
    expect(inspected).toHaveLength(length)
  })

  test.each([false, Infinity] as const)('deadlockCheckMs: %s turns it off', async (off) => {
    const world = makeWorld()
    const clients = [1, 2].map(() => world.client({ deadlockCheckMs: off, waitMs: 5000 }))
    const { outcomes } = await closeCycle(world, clients)
    expect(deadlocks(outcomes)).toEqual([])
  })

  test.each([0, -1, Number.NaN, '1000', null, true])('deadlockCheckMs: %s is refused', (value) => {
    const { store } = makeWorld()
    expect(() => createLocks(store, { deadlockCheckMs: value as number })).toThrow(LockUsageError)
  })
})

describe('the note on a lease', () => {
  test('shows what its holder waits for, and goes when the wait is over', async () => {
    const world = makeWorld()
    const locks = world.client()
    const busy = await world.direct().mutex('b').acquire()
    const gate = deferred()
    const run = outcomeOf(
      locks.mutex('a').run(async () => {
        await locks.mutex('b').run(() => undefined)
        await gate.promise
      }),
    )
    const waitsFor = async (): Promise<unknown> => {
      const {
        locks: [info],
      } = await world.direct().inspect({ prefix: 'a' })
      return info?.holders[0]?.owner.waitsFor
    }
    expect(await waitsFor()).toBeUndefined()
    await world.clock.advance(1500)
    expect(await waitsFor()).toMatchObject([{ lock: 'b', sinceMs: expect.any(Number) as number }])
    await busy.release()
    await world.clock.advance(100)
    expect(await waitsFor()).toBeUndefined()
    gate.resolve()
    await world.clock.until(run)
  })

  test('of two hundred waits that end one after the other goes in one request', async () => {
    const world = makeWorld()
    let renewals = 0
    const locks = observed(world, ({ verb }) => {
      if (verb === 'renew') renewals += 1
    })
    const busy = await world.direct().mutex('hot').acquire()
    const runs = Array.from({ length: 200 }, (_, index) =>
      locks.mutex(`own-${index}`).run(async () => {
        await locks.mutex('hot').run(() => undefined)
        await world.clock.advance(0)
      }),
    )
    await world.clock.advance(1500)
    renewals = 0
    await busy.release()
    await Promise.all(runs)
    await world.clock.advance(100)
    expect(renewals).toBeLessThan(3)
  })

  test('is not written for a wait that ended before the detector was loaded', async () => {
    const world = makeWorld()
    const locks = world.client()
    const busy = await world.direct().mutex('b').acquire()
    const stop = new AbortController()
    const done = deferred()
    const run = locks.mutex('a').run(async () => {
      const given = outcomeOf(locks.mutex('b').acquire({ signal: stop.signal }))
      stop.abort(new Error('enough'))
      expect(await given).toMatchObject({ error: { message: 'enough' } })
      await done.promise
    })
    await world.clock.advance(2500)
    const {
      locks: [info],
    } = await world.direct().inspect({ prefix: 'a' })
    expect(info?.holders[0]?.owner).not.toHaveProperty('waitsFor')
    done.resolve()
    await world.clock.until(run)
    await busy.release()
  })

  test('does not lengthen a fixed lease', async () => {
    const world = makeWorld()
    const locks = world.client()
    const busy = await world.direct().mutex('b').acquire()
    const fixed = { ttlMs: 3000, renew: false }
    const run = outcomeOf(locks.mutex('a', fixed).run(() => locks.mutex('b').run(() => undefined)))
    await world.clock.advance(2000)
    const {
      locks: [info],
    } = await world.direct().inspect({ prefix: 'a' })
    expect(info?.holders[0]?.owner.waitsFor).toHaveLength(1)
    expect(info?.holders[0]?.remainingMs).toBeLessThan(1010)
    await busy.release()
    await world.clock.until(run)
  })

  test('ends no hand-off for good', async () => {
    const world = makeWorld()
    const locks = world.client()
    const busy = await world.direct().mutex('b').acquire()
    const handedOff: string[] = []
    const stop = onLockEvent('handed-off', ({ lock }) => handedOff.push(lock))
    const run = locks.mutex('a').run(() => locks.mutex('b').run(() => undefined))
    await world.clock.advance(1500)
    await busy.release()
    await world.clock.until(run)
    await world.clock.until(
      Promise.all(Array.from({ length: 4 }, () => locks.mutex('a').run(() => undefined))),
    )
    stop()
    expect(handedOff).toContain('a')
  })
})
