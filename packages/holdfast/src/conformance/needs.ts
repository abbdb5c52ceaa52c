/**
 * What stores may lack, and what a store that lacks it must answer instead.
 *
 * A store is never allowed to do something vaguely like what was asked: it says no.
 */
import assert from 'node:assert/strict'
import type { Claim, LockKind, Store } from '../store/contract.js'
import { CAPACITY_ALL } from '../store/contract.js'
import type { Need } from './case.js'
import type { Context } from './context.js'
import { expectError, expectOutcome } from './expect.js'

export const fencing: Need = {
  name: 'fencing',
  has: (traits) => traits.fencing,
  async refused(context) {
    assert.equal(
      (await context.take(context.claim())).token,
      undefined,
      'a store without fencing has no tokens',
    )
  },
}

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

/** A waiter whose turn comes is told so, instead of finding out. */
export const push: Need = {
  name: 'wakeUp: push',
  has: (traits) => traits.wakeUp === 'push',
  moot: 'its waiters find out by attempting again',
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

export const downgrade = verb('downgrade', (store, claim) => store.downgrade(claim))
export const steal = verb('steal', (store, { lock }) => store.steal(lock, { now: true }))
export const inspect = verb('inspect', (store, { lock }) => store.inspect({ lock }))

function verb(
  name: 'downgrade' | 'steal' | 'inspect',
  ask: (store: Store, claim: Claim) => unknown,
): Need {
  return {
    name,
    has: (traits) => traits[name],
    async refused(context) {
      const claim = context.claim({
        kind: 'readWriteLock',
        capacity: CAPACITY_ALL,
        weight: CAPACITY_ALL,
      })
      await expectError('UNSUPPORTED', () => ask(context.store, claim))
      assert.equal(await context.withdraw(claim), 'absent', 'a refused request changes nothing')
    },
  }
}

/** Leases end one by one, on the store's clock, also while their client's connection lives. */
export const leaseExpiry: Need = {
  name: 'expiry of single leases',
  has: (traits) => traits.expiry !== 'session',
  moot: 'its leases end with the session; the tests with killed processes show that',
}

/** The store has connections or files of its own, and cannot work without them. */
export const connected: Need = {
  name: 'something to close',
  has: (traits) => traits.expiry !== 'process',
  moot: 'it lives in the process and has nothing to close',
}

export const restart: Need = {
  name: 'restart',
  has: (_traits, subject) => subject.restart !== undefined,
  moot: 'the subject gives no way to restart the service',
}

export const worker: Need = {
  name: 'worker',
  has: (_traits, subject) => subject.worker !== undefined,
  moot: 'the subject gives no worker program',
}

/** Names what a store lacks of what a test needs. */
export function missing(
  needs: readonly Need[],
  { subject }: Pick<Context, 'subject'>,
): Need | undefined {
  return needs.find((need) => !need.has(subject.traits, subject))
}
