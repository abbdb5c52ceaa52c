/** The stack of an error that rejects a call leads to the line of the caller. */
import { inspect } from 'node:util'
import { isNativeError } from 'node:util/types'
import { LockLostError, StoreUnavailableError, type Locks, type LocksOptions } from 'holdfast'
import type { TransactionGuard } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../support/world.js'

type Mistake = (locks: Locks, world: World) => Promise<unknown>

/** Each call rejects while another client holds the lock `a`. */
const MISTAKES: Readonly<Record<string, Mistake>> = {
  'an unknown option': (locks) => locks.mutex('a').acquire({ ttl: 1 } as object),
  'a wait that ended': (locks) => locks.mutex('a').acquire({ waitMs: 60 }),
  'a long wait that ended': (locks) => locks.mutex('a').acquire({ waitMs: 1100 }),
  'a run that waited for too long': (locks) => locks.mutex('a').run(() => 1, { waitMs: 60 }),
  'a single attempt': (locks) => locks.mutex('a').acquire({ waitMs: 0 }),
  'a campaign that ended': (locks) => locks.election('a').campaign({ waitMs: 60 }),
  'another kind of lock': (locks) => locks.semaphore('a', { permits: 3 }).acquire(),
  'an empty name': async (locks) => locks.mutex('').acquire(),
  'a handle that is none': (locks) => locks.mutex('a').adopt('garbage'),
  async 'a client that closes'(locks) {
    const waiting = locks.mutex('a').acquire()
    void locks.close()
    return waiting
  },
  async 'a closed client'(locks) {
    await locks.close()
    return locks.mutex('a').acquire()
  },
  async 'a lease that was lost under a run'(locks, { store }) {
    return locks.mutex('b').run(async (lease) => {
      await store.steal('b', { now: true })
      await lease.renew().catch(() => undefined)
    })
  },
  async 'a lease that was released'(locks) {
    const lease = await locks.mutex('b').acquire()
    await lease.release()
    return lease.renew()
  },
}

/** The name that a stack shows. */
async function callerOf(mistake: Mistake, locks: Locks, world: World): Promise<void> {
  await mistake(locks, world)
}

/** Mistakes that the store notices while it does not answer. */
const SILENT: Readonly<Record<string, Mistake>> = {
  'a store that is away': (locks) => locks.mutex('b').tryAcquire(),
  async 'a renewal without an answer'(locks, { wire }) {
    wire.fate = () => 'deliver'
    const lease = await locks.mutex('b').acquire()
    wire.fate = () => 'fail'
    return lease.renew()
  },
  async 'a release without an answer'(locks, { wire }) {
    wire.fate = () => 'deliver'
    const lease = await locks.mutex('b').acquire()
    wire.fate = () => 'fail'
    return lease.release()
  },
  async 'a release whose lease was stolen meanwhile'(locks, { store, wire }) {
    wire.fate = () => 'deliver'
    const lease = await locks.mutex('b').acquire()
    wire.fate = (verb) => {
      if (verb === 'withdraw') wire.fate = () => 'deliver'
      void store.steal('b', { now: true })
      return 'fail'
    }
    return lease.release()
  },
  async 'several locks without an answer'(locks, { wire }) {
    wire.fate = () => 'deliver'
    const lease = await locks.multi([locks.mutex('b'), locks.mutex('c')]).acquire()
    wire.fate = () => 'fail'
    return lease.release()
  },
}

async function stackOf(
  mistake: Mistake,
  world: World,
  locks: Locks,
  limitMs = 5000,
): Promise<string> {
  const outcome = await world.clock.until(outcomeOf(callerOf(mistake, locks, world)), limitMs)
  expect(outcome).toHaveProperty('error')
  return ('error' in outcome && (outcome.error as Error).stack) || ''
}

describe.each(['direct', 'client'] as const)('over a store (%s)', (how) => {
  const open = (world: World, options?: LocksOptions): Locks => world[how](options)

  test.each(Object.keys(MISTAKES))('%s shows its caller', async (name) => {
    const world = makeWorld()
    await world.direct().mutex('a').acquire()
    const stack = await stackOf(MISTAKES[name] as Mistake, world, open(world))
    expect(stack).toContain('callerOf')
    // Each place once.
    const lines = stack.split('\n')
    expect(new Set(lines).size).toBe(lines.length)
  })
})

test.each(Object.keys(SILENT))('%s shows its caller', async (name) => {
  const world = makeWorld()
  world.wire.fate = () => 'fail'
  // A release is repeated for ten seconds.
  expect(await stackOf(SILENT[name] as Mistake, world, world.client(), 20_000)).toContain(
    'callerOf',
  )
})

test('each caller of a lock gets the stack of its own call', async () => {
  const world = makeWorld()
  const mutex = world.client().mutex('a')
  world.wire.fate = () => 'fail'
  const callers: readonly (() => Promise<unknown>)[] = [
    async function firstCaller() {
      await mutex.acquire({ waitMs: 1500 })
    },
    async function secondCaller() {
      await mutex.acquire({ waitMs: 1500 })
    },
  ]
  const waiting = Promise.all(callers.map((call) => outcomeOf(call())))
  const errors = (await world.clock.until(waiting)).map((outcome) =>
    'error' in outcome ? (outcome.error as Error) : undefined,
  )
  const found = errors.map((error) => error?.stack?.match(/first|second/g))
  expect(found).toEqual([['first'], ['second']])
  for (const error of errors) {
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', name: 'StoreUnavailableError' })
    expect(isNativeError(error)).toBe(true)
    expect(inspect(error)).toMatch(/^StoreUnavailableError: The wire refused the attempt/)
  }
})

test.each(['ping', 'inspect'] as const)('each caller of %s does', async (call) => {
  const world = makeWorld()
  const down = new StoreUnavailableError('The store is away.')
  world.store.inspect = () => Promise.reject(down)
  world.store.list = () => Promise.reject(down)
  const locks = world.direct()
  const callers: readonly (() => Promise<unknown>)[] = [
    async function firstCaller() {
      await locks[call]()
    },
    async function secondCaller() {
      await locks[call]()
    },
  ]
  const found: unknown[] = []
  for (const caller of callers) {
    const outcome = await outcomeOf(caller())
    found.push('error' in outcome && (outcome.error as Error).stack?.match(/first|second/g))
  }
  expect(found).toEqual([['first'], ['second']])
})

test('each caller whose transaction could not begin has an error of its own', async () => {
  const world = makeWorld()
  const down = new StoreUnavailableError('The store is away.')
  const transactionGuard: TransactionGuard = {
    prepare: () => Promise.reject(down),
    begin: async () => true,
    isStillOpen: async () => true,
  }
  Object.defineProperty(world.store, 'name', { value: 'postgres' })
  Object.assign(world.store, { transactionGuard })
  const locks = world.direct()
  const session = { dialect: 'postgres', query: async () => [] } as const
  const db = { ...session, transaction: async () => Promise.reject(new Error('not reached')) }
  const errors: unknown[] = []
  for (const name of ['a', 'b']) {
    const outcome = await outcomeOf(locks.transaction(locks.mutex(name), db, async () => 1))
    errors.push('error' in outcome && outcome.error)
  }
  expect(errors).toEqual([down, down])
  expect(errors[0]).not.toBe(errors[1])
})

test('callers of one signal get its reason itself', async () => {
  const world = makeWorld()
  await world.direct().mutex('a').acquire()
  const stop = new AbortController()
  const { signal } = stop
  const mutex = world.client().mutex('a')
  const waiting = [1, 2].map(() => outcomeOf(mutex.acquire({ signal })))
  const reason = new LockLostError('expired', { lock: 'b' })
  stop.abort(reason)
  for (const outcome of await Promise.all(waiting))
    expect('error' in outcome && outcome.error).toBe(reason)
})

test("a caller's own reason stays as it is", async () => {
  const world = makeWorld()
  await world.direct().mutex('a').acquire()
  const stop = new AbortController()
  const waiting = outcomeOf(world.client().mutex('a').acquire({ signal: stop.signal }))
  const reason = new RangeError('shutdown')
  const { stack } = reason
  stop.abort(reason)
  expect(await waiting).toEqual({ error: reason })
  expect(reason.stack).toBe(stack)
})
