/** `atLeastMs` of several locks keeps all of them, or none. */
import { expect, test } from 'vitest'
import { keepAllTaken } from '../../dist/locks/at-least.js'
import type { HeldLease } from '../../dist/lease/hold/held-lease.js'
import { makeWorld } from '../support/world.js'

test('a lock that could not be kept lets the others be free at their release', async () => {
  const { direct } = makeWorld()
  const locks = direct()
  const terms = { ttlMs: 20_000, renew: false }
  const leases = [await locks.mutex('a').acquire(terms), await locks.mutex('b').acquire(terms)]
  const [first, second] = leases as unknown as [HeldLease, HeldLease]
  const failure = new Error('the store refused')
  Object.defineProperty(second.grant, 'keptUntilMs', {
    set: () => {
      throw failure
    },
  })
  await expect(keepAllTaken([first, second], 10_000)).rejects.toBe(failure)
  expect(await first.release()).toBe('released')
  expect(await direct().mutex('a').tryAcquire()).toBeDefined()
})
