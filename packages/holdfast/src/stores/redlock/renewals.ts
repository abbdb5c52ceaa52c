/** What the nodes' answers to one renewal amount to. */
import type { LockError } from '../../errors.js'
import type { RenewResult } from '../../store/contract.js'
import type { Answers } from './poll.js'

/**
 * - A majority renewed: so is the lease, from when the requests left.
 * - A majority cannot be reached any more: lost. Stolen if a node says so, for then it is why.
 * - Else nobody knows yet (undefined).
 */
export function judgeRenewal(
  answers: Answers<RenewResult>,
  quorum: number,
): RenewResult | undefined {
  const results = answers.values
  if (results.filter(({ outcome }) => outcome === 'renewed').length >= quorum)
    return { outcome: 'renewed' }
  const lost = results.flatMap((result) => (result.outcome === 'lost' ? [result] : []))
  if (lost.length <= answers.byNode.length - quorum) return undefined
  return lost.find(({ reason }) => reason === 'stolen') ?? { outcome: 'lost', reason: 'expired' }
}

/**
 * Why it is not known, by the place of the node: also of nodes that answered that they do not know.
 */
export function renewalFailures(
  answers: Answers<RenewResult>,
  timeoutMs: number,
): Map<number, LockError> {
  const failures = answers.failures(timeoutMs)
  for (const [index, answer] of answers.byNode.entries()) {
    const result = answer && 'value' in answer ? answer.value : undefined
    if (result?.outcome === 'unknown') failures.set(index, result.cause)
  }
  return failures
}
