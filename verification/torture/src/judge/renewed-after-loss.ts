/**
 * A lease that the server has lost is never renewed. Its holder learns of the loss at its next
 * renewal, so two holders believe at once only until then. This is what is left of exclusion when a
 * server forgets.
 */
import type { HistoryEvent, Hold } from '@holdfast/conformance'
import type { Loss } from '../run/chronicle.js'
import type { Finding } from './judgement.js'

/** A renewal may have been on its way while the data was deleted. */
const SLACK_NS = 50_000_000n

export function renewedAfterLoss(
  holds: readonly Hold[],
  events: readonly HistoryEvent[],
  losses: readonly Loss[],
  ttlMs: number,
): Omit<Finding, 'promised'>[] {
  if (losses.length === 0) return []
  const ttlNs = BigInt(ttlMs) * 1_000_000n
  const renewals = events.filter(({ f, type }) => f === 'renew' && type === 'ok')
  const found: Omit<Finding, 'promised'>[] = []
  for (const hold of holds) {
    const loss = losses.find(
      ({ grantedBeforeNs, lostNs }) => hold.startNs < grantedBeforeNs && lostNs < hold.endNs,
    )
    if (!loss) continue
    // The deadline counts from when the renewal left, so that this one left after the loss.
    const late = renewals.find(
      (event) =>
        isOf(event, hold) &&
        (event.deadline_ns ?? 0n) - ttlNs > loss.lostNs + SLACK_NS &&
        event.t_ns <= hold.endNs,
    )
    if (!late) continue
    const message = `"${hold.key}" was renewed for ${hold.client} (pid ${hold.pid}) after the server had lost that lease.`
    found.push({ property: 'forgotten', kind: 'forgotten', key: hold.key, message, events: [late] })
  }
  return found
}

function isOf({ pid, client, key, t_ns }: HistoryEvent, hold: Hold): boolean {
  return pid === hold.pid && client === hold.client && key === hold.key && t_ns >= hold.startNs
}
