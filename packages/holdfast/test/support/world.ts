/**
 * A small world in virtual time: one memory store, behind a wire whose faults the test decides.
 */
import { createLocks, StoreUnavailableError, type Locks, type LocksOptions } from 'holdfast'
import { SeededRandom, VirtualClock } from 'holdfast/testing'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'
import { withTimeout } from '../../dist/clock/with-timeout.js'

export type Verb = 'attempt' | 'renew' | 'withdraw' | 'downgrade'

/** What happens to one request. `hang`: it is never answered, and never arrives. */
export type Fate = 'deliver' | 'hang' | 'fail' | 'drop-reply'

export interface Wire {
  /** Milliseconds each way. */
  latencyMs: number
  /** After this time without an answer the store rejects, except a renewal. */
  timeoutMs: number
  /** Asked for each request, with the verb and what was asked. */
  fate: (verb: Verb, argument: unknown) => Fate
  /** What has been asked so far. */
  readonly sent: { verb: Verb; argument: unknown; atMs: number }[]
}

export interface World {
  readonly clock: VirtualClock
  readonly store: Store
  readonly wire: Wire
  /** A client of the store over the wire. `requestTimeoutMs` is that of the wire. */
  client(options?: LocksOptions & { readonly requestTimeoutMs?: number }): Locks
  /** A client that calls the store directly, as another process might. */
  direct(options?: LocksOptions): Locks
}

/**
 * @param tombstonesPerLock how many claims that ended each lock remembers
 * @param ordered what the store behind the wire declares
 */
export function makeWorld(seed = 1, tombstonesPerLock = 100_000, ordered = false): World {
  const clock = new VirtualClock()
  const random = new SeededRandom(seed)
  const store = memoryStore({ clock, tombstonesPerLock })
  const wire: Wire = { latencyMs: 1, timeoutMs: 5000, fate: () => 'deliver', sent: [] }
  const far = behindWire(store, wire, clock, ordered)
  return {
    clock,
    store,
    wire,
    client({ requestTimeoutMs = wire.timeoutMs, ...options } = {}) {
      wire.timeoutMs = requestTimeoutMs
      return createLocks(far, { clock, random, ...options })
    },
    direct: (options = {}) => createLocks(store, { clock, random, ...options }),
  }
}

function behindWire(store: Store, wire: Wire, clock: VirtualClock, ordered: boolean): Store {
  const travel = (): Promise<void> =>
    new Promise((resolve) => void clock.timer(wire.latencyMs, resolve))

  /** A request as a store sends it: it ends in time, with an unknown outcome if need be. */
  function ask<T>(verb: Verb, argument: unknown, call: () => T | PromiseLike<T>): Promise<T> {
    const answer = exchange(verb, argument, call)
    if (verb === 'renew') return answer
    const late = (): Error => new StoreUnavailableError(`No answer to the ${verb} came in time.`)
    return withTimeout(answer, wire.timeoutMs, late, { clock })
  }

  async function exchange<T>(
    verb: Verb,
    argument: unknown,
    call: () => T | PromiseLike<T>,
  ): Promise<T> {
    const fate = wire.fate(verb, argument)
    wire.sent.push({ verb, argument, atMs: clock.monotonicMs() })
    await travel()
    if (fate === 'hang') return new Promise<never>(() => undefined)
    if (fate === 'fail') throw new StoreUnavailableError(`The wire refused the ${verb}.`)
    const answer = await call()
    await travel()
    if (fate === 'drop-reply') return new Promise<never>(() => undefined)
    return answer
  }

  return {
    name: 'remote memory',
    traits: { ...store.traits, ordered },
    attempt: (claim, options) => ask('attempt', claim, () => store.attempt(claim, options)),
    renew: (renewals) => ask('renew', renewals, () => store.renew(renewals)),
    withdraw: (claim) => ask('withdraw', claim, () => store.withdraw(claim)),
    downgrade: (claim) => ask('downgrade', claim, () => store.downgrade(claim)),
    watch: (claim, wake) => store.watch(claim, (grant) => void travel().then(() => wake(grant))),
    steal: (lock, options) => store.steal(lock, options),
    list: (query) => store.list(query),
    inspect: (locks, waitersUpTo) => store.inspect(locks, waitersUpTo),
    close: () => store.close(),
  }
}

/** How often a verb was asked. */
export function count(world: World, verb: Verb): number {
  return world.wire.sent.filter((request) => request.verb === verb).length
}

/**
 * The outcome of a promise as a value, so that a rejection is never unhandled while a test looks
 * elsewhere.
 */
export function outcomeOf<T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}

/** Returns a promise and the function that settles it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
