/** Where a token is made. */
import { invariant } from '../invariant.js'
import type { LockState, RuleStep } from './lock-state.js'

/** Returns the smallest token that is larger than each earlier one of the lock. */
export function nextToken(state: LockState, step: RuleStep): number {
  const token = Math.max(state.lastToken + 1, step.tokenFloor)
  invariant(token > state.lastToken, 'the tokens of a lock grow', state.lock)
  return token
}
