/** Each mistake of a caller is refused at once, with a typed error, and changes nothing. */
import {
  createLocks,
  LockUsageError,
  onLockEvent,
  UnsupportedLockError,
  type LeaseNote,
  type WriteLease,
} from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { MAX_NAME_BYTES, type Store, type Traits } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../support/world.js'

const locks = createLocks(memoryStore())

function storeWith(traits: Partial<Record<keyof Traits, unknown>>): Store {
  const store = memoryStore()
  Object.defineProperty(store, 'traits', { value: { ...store.traits, ...traits } })
  return store
}

test('store without fencing tokens is refused', () => {
  expect(() => createLocks(storeWith({ fencing: false }))).toThrow(
    expect.objectContaining({
      code: 'LOCK_USAGE',
      message: expect.stringContaining('gives no fencing tokens') as string,
    }),
  )
})

describe('names', () => {
  test.each([
    ['empty', ''],
    ['10 kB', 'x'.repeat(10_000)],
    ['with NUL', 'a\0b'],
    ['with a line break', 'a\nb'],
    ['with an escape', '\u001b[31mred'],
    ['with half a surrogate pair', 'a\ud800'],
    ['undefined', undefined],
    ['null', null],
    ['a number', 42],
    ['an object', {}],
  ])('%s', (_what, name) => {
    for (const make of [
      () => locks.mutex(name as string),
      () => locks.readWriteLock(name as string),
      () => locks.semaphore(name as string, { permits: 1 }),
      () => locks.striped(name as string, { stripes: 2 }),
      () => locks.election(name as string),
      () => locks.singleFlight(name as string),
    ]) {
      expect(make).toThrow(LockUsageError)
    }
  })

  test('count with their namespace', () => {
    const name = 'x'.repeat(MAX_NAME_BYTES - 2)
    expect(createLocks(memoryStore()).mutex(name).name).toBe(name)
    expect(() => createLocks(memoryStore(), { namespace: 'shop' }).mutex(name)).toThrow(/namespace/)
  })

  test('count with the number of the stripe', () => {
    const name = 'x'.repeat(MAX_NAME_BYTES - 2)
    expect(locks.striped(name, { stripes: 10 }).at(9).name).toBe(`${name}#9`)
    expect(() => locks.striped(name, { stripes: 11 })).toThrow(/stripe.* has 513 bytes/)
  })

  test.each(['__proto__', 'constructor', 'toString', '🔒', '../../etc/passwd'])(
    '%s is a name like any other',
    async (name) => {
      const lease = await locks.mutex(name).acquire()
      expect(await locks.mutex(name).tryAcquire()).toBeUndefined()
      expect(await lease.release()).toBe('released')
    },
  )
})

describe('durations', () => {
  test.each([0, -1, NaN, Infinity, 49, '30s', null])('ttlMs %s', (ttlMs) => {
    expect(() => locks.mutex('a', { ttlMs: ttlMs as number })).toThrow(LockUsageError)
    expect(() => createLocks(memoryStore(), { ttlMs: ttlMs as number })).toThrow(LockUsageError)
  })

  test.each([-1, NaN, '5s', null])('waitMs %s', async (waitMs) => {
    const outcome = await outcomeOf(locks.mutex('a').acquire({ waitMs: waitMs as number }))
    expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(
      await outcomeOf(locks.mutex('a').run(() => 1, { waitMs: waitMs as number })),
    ).toHaveProperty('error.code', 'LOCK_USAGE')
  })

  test.each([0, -1, NaN])('maxHoldMs %s', (maxHoldMs) => {
    expect(() => locks.mutex('a', { maxHoldMs })).toThrow(LockUsageError)
  })

  test('a TTL that the store does not grant', () => {
    const limited = storeWith({ ttlRangeMs: [1000, 2000] })
    expect(() => createLocks(limited, { ttlMs: 1500 }).mutex('a', { ttlMs: 3000 })).toThrow(
      UnsupportedLockError,
    )
  })
})

describe('options', () => {
  test('of the wrong type', async () => {
    expect(() => locks.mutex('a', { renew: 'yes' as never })).toThrow(LockUsageError)
    expect(() => locks.mutex('a', { reentrant: 1 as never })).toThrow(LockUsageError)
    expect(() => locks.mutex('a', { fairness: 'lifo' as never })).toThrow(LockUsageError)
    for (const fairness of [Object.create(null), () => 1, Symbol('fifo')]) {
      expect(() => locks.mutex('a', { fairness: fairness as never })).toThrow(LockUsageError)
    }
    expect(() => locks.mutex('a', null as never)).toThrow(LockUsageError)
    expect(await outcomeOf(locks.mutex('a').acquire({ signal: {} as never }))).toHaveProperty(
      'error.code',
      'LOCK_USAGE',
    )
    expect(() => createLocks(memoryStore(), { label: 7 as never })).toThrow(LockUsageError)
  })

  test.each([0, -1, 1.5, NaN, Infinity, '4', undefined])('permits %s', (permits) => {
    expect(() => locks.semaphore('s', { permits: permits as number })).toThrow(LockUsageError)
  })

  test.each([0, -1, 5, 1.5, NaN])('weight %s of 4', async (weight) => {
    const semaphore = locks.semaphore('s', { permits: 4 })
    expect(await outcomeOf(semaphore.acquire({ weight }))).toHaveProperty(
      'error.code',
      'LOCK_USAGE',
    )
    expect(await outcomeOf(semaphore.tryAcquire({ weight }))).toHaveProperty(
      'error.code',
      'LOCK_USAGE',
    )
  })

  test.each([0, -1, 1.5, 1e9, NaN])('stripes %s', (stripes) => {
    expect(() => locks.striped('s', { stripes })).toThrow(LockUsageError)
  })

  test('of the mutexes of a striped lock', () => {
    for (const wrong of [{ ttlMs: -1 }, { renew: 'yes' as never }, { fairness: 'lifo' as never }]) {
      expect(() => locks.striped('s', { stripes: 2, ...wrong })).toThrow(LockUsageError)
    }
    const limited = createLocks(storeWith({ ttlRangeMs: [1000, 2000] }), { ttlMs: 1500 })
    expect(() => limited.striped('s', { stripes: 2, ttlMs: 3000 })).toThrow(UnsupportedLockError)
  })

  test('of a store in memory', () => {
    for (const options of [null, 5, 'memory', { clock: {} }, { clock: null }]) {
      expect(() => memoryStore(options as never)).toThrow(LockUsageError)
    }
    for (const tombstonesPerLock of [NaN, -1, '8', null]) {
      expect(() => memoryStore({ tombstonesPerLock: tombstonesPerLock as never })).toThrow(
        LockUsageError,
      )
    }
  })

  test.each([{}, null, 5, { monotonicMs: () => 0, wallMs: () => 0 }, { next: () => 0 }])(
    '%j is neither a clock nor a source of randomness',
    (wrong) => {
      expect(() => createLocks(memoryStore(), { clock: wrong as never })).toThrow(LockUsageError)
      expect(() => createLocks(memoryStore(), { random: wrong as never })).toThrow(LockUsageError)
    },
  )

  test.each([5, null, undefined, 'work'])('%s is nothing to run detached', (work) => {
    expect(() => locks.detached(work as never)).toThrow(LockUsageError)
  })

  test.each([0, -1, 1.5, NaN, Infinity, '5', null])('a limit of inspect: %s', async (limit) => {
    const outcome = await outcomeOf(locks.inspect({ limit: limit as number }))
    expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(outcome).toHaveProperty(
      'error.message',
      expect.stringMatching(/limit.*whole number from 1/),
    )
  })

  test.each([null, 5, 'wait'])('%s instead of options', async (options) => {
    const none = options as never
    const semaphore = locks.semaphore('s', { permits: 4 })
    for (const refused of [
      semaphore.acquire(none),
      semaphore.tryAcquire(none),
      semaphore.run(() => 1, none),
      locks.election('e').campaign(none),
      locks.steal('a', none),
      locks.inspect(none),
    ]) {
      expect(await outcomeOf<unknown>(refused)).toHaveProperty('error.code', 'LOCK_USAGE')
    }
  })

  test('of one call, of the wrong type', async () => {
    for (const refused of [
      locks.election('e').campaign({ signal: 5 as never }),
      locks.election('e').campaign({ waitMs: '5' as never }),
      locks.semaphore('s', { permits: 4 }).acquire({ signal: 5 as never }),
      locks.inspect({ prefix: 5 as never }),
      locks.steal('a', { claim: 5 as never }),
      locks.steal('a', { claim: 'no claim' }),
      locks.steal('a', { claim: '' }),
    ]) {
      expect(await outcomeOf<unknown>(refused)).toHaveProperty('error.code', 'LOCK_USAGE')
    }
  })

  test.each(['false', 'no', 0, 1, null, {}])(
    '%s is no answer to whether to steal now',
    async (now) => {
      const lease = await locks.mutex('not stolen').acquire({ waitMs: 0 })
      const outcome = await outcomeOf(locks.steal('not stolen', { now: now as never }))
      expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
      await lease.renew()
      expect(await lease.release()).toBe('released')
    },
  )

  test('an unknown event, or no listener', () => {
    expect(() => onLockEvent('nope' as never, () => undefined)).toThrow(LockUsageError)
    expect(() => onLockEvent('lost', undefined as never)).toThrow(LockUsageError)
    const election = locks.election('e')
    expect(() => election.on('electd' as never, () => undefined)).toThrow(
      /events elected, lost.*"electd"/,
    )
    expect(() => election.on('elected', 5 as never)).toThrow(LockUsageError)
  })

  test('a store that is none', () => {
    for (const store of [
      undefined,
      null,
      {},
      { attempt: () => undefined, traits: null },
      'redis://localhost',
      memoryStore,
    ]) {
      expect(() => createLocks(store as never)).toThrow(LockUsageError)
    }
  })

  test('a kind that the store has not', () => {
    const few = createLocks(storeWith({ kinds: ['mutex'] }))
    expect(() => few.semaphore('s', { permits: 2 })).toThrow(UnsupportedLockError)
    expect(() => few.readWriteLock('s')).toThrow(UnsupportedLockError)
  })

  test('a note that says who else it is, or of a group that cannot be looked up', async () => {
    const lease = await locks.mutex('note').acquire()
    const owner = async () => (await locks.inspect({ prefix: 'note' })).locks[0]?.holders[0]?.owner
    const before = await owner()
    const foreign = { label: 'mine', clientId: 'evil', host: 'elsewhere' } as LeaseNote
    expect(await outcomeOf(lease.annotate(foreign))).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(await owner()).toEqual(before)
    await lease.annotate({ label: 'mine' })
    expect(await owner()).toEqual({ ...before, label: 'mine' })
    for (const group of [
      {},
      { pgid: 'x', startTime: '1' },
      { pgid: 5n, startTime: '1' },
      { pgid: 5 },
      null,
    ]) {
      const outcome = await outcomeOf(lease.annotate({ group } as unknown as LeaseNote))
      expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
    }
    await lease.renew()
    expect(lease.held).toBe(true)
    expect(await owner()).toEqual({ ...before, label: 'mine' })
    await lease.release()
  })

  test('a downgrade of what is no writer', async () => {
    const lease = (await locks.mutex('no writer').acquire()) as unknown as WriteLease
    expect(await outcomeOf(lease.downgrade())).toHaveProperty('error.code', 'LOCK_USAGE')
  })
})

test('work that is no function is refused before its lock is taken', async () => {
  const atLeastMs = 60_000
  const mutex = locks.mutex('no work')
  const work = 'work' as unknown as () => number
  for (const call of [
    () => mutex.run(work, { atLeastMs }),
    () => locks.multi([mutex]).run(work, { atLeastMs }),
    () => locks.oncePerTick('no work', work, { atLeastMs }),
  ]) {
    const outcome = await outcomeOf<unknown>(call())
    expect(outcome).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(outcome).toHaveProperty('error.message', expect.stringContaining('needs a function'))
  }
  const lease = await mutex.tryAcquire()
  expect(await lease?.release()).toBe('released')
})

test('a promise in the place of work is said to have begun without the lock', async () => {
  const mutex = locks.mutex('begun')
  const work = Promise.resolve(1) as never
  const held = await locks.mutex('held').acquire()
  for (const call of [
    () => mutex.run(work),
    () => mutex.run(work, { atLeastMs: 1 }),
    () => locks.multi([mutex]).run(work),
    () => locks.multi([mutex]).run(work, { atLeastMs: 1 }),
    () => locks.readWriteLock('begun rw').read.run(work),
    () => locks.semaphore('begun s', { permits: 2 }).run(work),
    () => locks.striped('begun t', { stripes: 2 }).for('k').run(work),
    () => locks.oncePerTick('begun', work, { atLeastMs: 1 }),
    () => locks.singleFlight('begun').run(work, { read: () => undefined }),
    () => locks.election('begun e').lead(work),
    () => held.run(work),
  ]) {
    const outcome = await outcomeOf<unknown>(call())
    expect(outcome).toMatchObject({
      error: { code: 'LOCK_USAGE', message: expect.stringContaining('began without the lock') },
    })
  }
  expect(await held.release()).toBe('released')
  expect(await (await mutex.tryAcquire())?.release()).toBe('released')
})

test('inspect and steal of a closed client are refused', async () => {
  const client = createLocks(memoryStore())
  await client.close()
  for (const call of [() => client.inspect(), () => client.steal('a')]) {
    expect(await outcomeOf<unknown>(call())).toHaveProperty('error.code', 'LOCKS_CLOSED')
  }
})
