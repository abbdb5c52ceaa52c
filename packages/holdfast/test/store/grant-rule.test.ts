/** The invariants of the grant rule: a broken state fails at once, with the lock's name. */
import { expect, test } from 'vitest'
import * as rule from '../../dist/store/grant-rule.js'
import { makeClaim } from '../../../../test/support/claims.js'

const NOW: rule.RuleStep = { nowMs: 1000, tokenFloor: 1, tombstoneLimit: 8, promoted: [] }
const TERMS = { enqueue: true, tokens: 1 }

/** A held lock, broken by `damage`. */
function broken(damage: (state: rule.LockState, holder: rule.Holder) => void) {
  const state = rule.newLockState('broken')
  const claim = makeClaim('broken')
  rule.attempt(state, claim, TERMS, NOW)
  damage(state, state.holders.get(claim.id) as rule.Holder)
  return { state, claim }
}

test('releasing more weight than is held throws INTERNAL with the name of the lock', () => {
  const { state, claim } = broken((lock) => (lock.heldWeight = 0))
  expect(() => rule.withdraw(state, claim, NOW)).toThrow(
    expect.objectContaining({ code: 'INTERNAL', lock: 'broken' }),
  )
})

test('held weight that no holder has throws when the last holder leaves', () => {
  const { state, claim } = broken((lock, holder) => (holder.weight = lock.capacity - 1))
  expect(() => rule.withdraw(state, claim, NOW)).toThrow('has no held weight')
})

test('a waiter that holds the lock already is not granted again', () => {
  const { state } = broken((lock) => lock.holders.clear())
  const waiter = makeClaim('broken')
  rule.attempt(state, waiter, TERMS, NOW)
  state.heldWeight = 0
  state.holders.set(waiter.id, {} as rule.Holder)
  expect(() => rule.expireAndPromote(state, NOW)).toThrow('granted once')
})
