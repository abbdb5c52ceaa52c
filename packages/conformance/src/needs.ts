/**
 * What stores may lack, and how a store without it must answer.
 *
 * Such a store must refuse. It must not do something similar.
 */
import assert from 'node:assert/strict'
import type { LockKind } from 'holdfast/store'
import type { Need } from './case.js'
import type { Context } from './context.js'
import { expectError, expectOutcome } from './expect.js'

export const tokenBlocks: Need = {
  name: 'tokenBlocks',
  has: (traits) => traits.tokenBlocks,
  async refused(context) {
    const result = await context.store.attempt(context.claim(), { enqueue: true, tokens: 5 })
    assert.equal(expectOutcome(result, 'granted').tokens, 1)
  },
}

export const queue: Need = {
  name: 'fair',
  has: (traits) => traits.fair,
  async refused(context) {
    await context.take(context.claim())
    expectOutcome(await context.attempt(context.claim()), 'busy')
  },
}

/** A claim that a steal has removed learns of it. */
export const remembersSteals: Need = {
  name: 'remembered steals',
  has: (traits) => traits.forgetsSteals !== true,
  async refused(context) {
    const claim = context.claim()
    await context.take(claim)
    await context.store.steal(claim.lock, { now: true, reason: 'a test' })
    const lost = [{ outcome: 'lost', reason: 'expired' }]
    assert.deepEqual(await context.store.renew([claim]), lost)
  },
}

/** The store wakes a waiter that it granted. */
export const push: Need = {
  name: 'wakeUp: push',
  has: (traits) => traits.wakeUp === 'push',
  moot: 'its waiters learn of a grant by attempting again',
}

export const readWriteLock = kind('readWriteLock')
export const semaphore = kind('semaphore')

function kind(which: LockKind): Need {
  return {
    name: which,
    has: (traits) => traits.kinds.includes(which),
    async refused(context) {
      const locks = await context.locks()
      await expectError('UNSUPPORTED', () =>
        which === 'semaphore'
          ? locks.semaphore('refused', { permits: 2 }).tryAcquire()
          : locks.readWriteLock('refused').read.tryAcquire(),
      )
    },
  }
}

/** A lease passes to another claim, and to another process as a handle. */
export const adopt: Need = {
  name: 'adopt',
  has: (traits) => traits.adopt,
  async refused(context) {
    const locks = await context.locks()
    const lease = await locks.mutex(context.name()).acquire()
    await expectError('UNSUPPORTED', () => lease.export())
    assert.equal(lease.held, true)
    assert.equal(await lease.release(), 'released')
  },
}

/** Work that must not start. */
export function mustNotRun(): never {
  assert.fail('the work ran')
}

/** A lock can outlast the process of its holder: `atLeastMs`. */
export const keeps: Need = {
  name: 'locks that outlast their holder',
  has: ({ expiry, adopt }) => expiry === 'server' || expiry === 'process' || adopt,
  async refused(context) {
    const locks = await context.locks()
    const options = { atLeastMs: 1_000 }
    await expectError('UNSUPPORTED', () => locks.mutex(context.name()).run(mustNotRun, options))
    await expectError('UNSUPPORTED', () => locks.oncePerTick(context.name(), mustNotRun, options))
    const due = { ...options, slot: context.time.clock.wallMs() }
    await expectError('UNSUPPORTED', () => locks.oncePerTick(context.name(), mustNotRun, due))
  },
}

/** Each lease ends by the store's clock, also while its client's connection is open. */
export const leaseExpiry: Need = {
  name: 'expiry of single leases',
  has: (traits) => traits.expiry !== 'session',
  moot: 'its leases end with the session, as the cases with killed processes show',
}

/** The store has connections or files to close. */
export const connected: Need = {
  name: 'something to close',
  has: (traits) => traits.expiry !== 'process',
  moot: 'it has no connections or files to close',
}

export const restart: Need = {
  name: 'restart',
  has: (_traits, subject) => subject.restart !== undefined,
  moot: 'the subject cannot restart the service',
}

export const worker: Need = {
  name: 'worker',
  has: (_traits, subject) => subject.worker !== undefined,
  moot: 'the subject has no worker program',
}

/** Returns the first need that the subject lacks. */
export function missing(
  needs: readonly Need[],
  { subject }: Pick<Context, 'subject'>,
): Need | undefined {
  return needs.find((need) => !need.has(subject.traits, subject))
}
