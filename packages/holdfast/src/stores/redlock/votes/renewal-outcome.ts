/** The outcome of one renewal from the answers of the nodes, as plain functions. */
import type { LockError } from '../../../errors.js'
import type { RenewResult } from '../../../store/contract.js'
import type { Answers } from './poll.js'

/**
 * - A majority renewed: so is the lease, from when the requests left.
 * - A majority cannot be reached any more: lost. Stolen if a node reports that, since it is the
 *   cause.
 * - Otherwise the outcome is unknown yet (undefined).
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

/** Returns why the outcome is unknown, by the place of the node, answers "unknown" included. */
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
