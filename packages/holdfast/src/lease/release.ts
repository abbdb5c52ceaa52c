import type { Client } from './client.js'
import type { Grant } from './grant.js'

/** Gives a grant back to the store. */
export function releaseGrant(
  client: Client,
  grant: Grant,
  nowMs: number,
): 'released' | 'lost' | Promise<'released' | 'lost'> {
  const overdue = nowMs >= grant.deadlineMs
  grant.state = 'released'
  client.renewals.remove(grant)
  const judge = (outcome: string): 'released' | 'lost' =>
    outcome === 'released' && !overdue ? 'released' : 'lost'
  const outcome = client.withdrawals.release(grant.claim, grant.deadlineMs)
  return typeof outcome === 'string' ? judge(outcome) : outcome.then(judge)
}
