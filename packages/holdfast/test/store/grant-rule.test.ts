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

test('a claim that a steal removed learns the reason beyond the limit of tombstones', () => {
  const state = rule.newLockState('stolen')
  const step = { ...NOW, tombstoneLimit: 1 }
  const holder = makeClaim('stolen')
  rule.attempt(state, holder, TERMS, step)
  rule.steal(state, { claim: holder.id, now: true, reason: 'ada' }, step)
  for (let count = 0; count < 3; count += 1) {
    const next = makeClaim('stolen')
    rule.attempt(state, next, TERMS, step)
    rule.withdraw(state, next, step)
  }
  const loss = { outcome: 'lost', reason: 'stolen', stealReason: 'ada' }
  expect(rule.renew(state, holder, step)).toEqual(loss)
  expect(state.tombstones.size).toBe(2)
  const later = { ...step, nowMs: step.nowMs + holder.ttlMs }
  expect(rule.renew(state, holder, later)).toEqual({ outcome: 'lost', reason: 'expired' })
})
