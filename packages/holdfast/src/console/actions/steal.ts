/** Steals one claim, for a user who may, and notes each try. */
import type { StealResult } from '../../store/contract.js'
import { ApiFailure } from '../access/failure.js'
import type { Grant } from '../access/access.js'
import { shownText, Sight } from '../access/sight.js'
import type { ActionView, StealRequest } from '../view.js'
import type { Audit } from './audit.js'
import { fullReason } from './steal-request.js'

/** Where a claim is stolen. */
export interface StealTarget {
  readonly storeName: string
  /** Takes the full name of the lock. */
  steal(
    lock: string,
    options: { readonly claim: string; readonly now: boolean; readonly reason: string },
  ): Promise<StealResult>
}

export interface StealTry {
  readonly request: StealRequest
  readonly grant: Grant
  readonly isReadOnly: boolean
  readonly wallMs: number
}

/**
 * Resolves to what happened.
 * @throws ApiFailure for a refusal, which the audit has noted.
 */
export async function stealClaim(
  target: StealTarget,
  audit: Audit,
  attempt: StealTry,
): Promise<ActionView> {
  const { request, grant, wallMs } = attempt
  const { lock, claimId, reason, now } = request
  const action = {
    atMs: wallMs,
    user: grant.user,
    action: now ? 'steal-now' : 'steal',
    store: target.storeName,
    // The holder learns the whole reason. Logs and the page hide the secrets in it.
    ...{ lock, claimId, reason: shownText(reason) },
  } as const
  let full: string
  try {
    checkRights(attempt)
    full = fullReason(grant.user, reason)
  } catch (error) {
    audit.add({ ...action, outcome: 'refused', text: (error as Error).message })
    throw error
  }
  try {
    const {
      holders,
      waiters = 0,
      freeInMs,
    } = await target.steal(lock, {
      ...{ claim: claimId, now, reason: full },
    })
    if (holders + waiters === 0) return audit.add({ ...action, outcome: 'nothing-stolen' })
    const free = holders === 0 || freeInMs === undefined ? {} : { freeInMs: Math.round(freeInMs) }
    return audit.add({ ...action, outcome: 'stolen', ...free })
  } catch (error) {
    const text = shownText(error instanceof Error ? error.message : String(error))
    return audit.add({ ...action, outcome: 'failed', text })
  }
}

function checkRights({ request, grant, isReadOnly }: StealTry): void {
  const { lock, typed } = request
  if (isReadOnly) throw new ApiFailure(403, 'READ_ONLY', 'This console is read-only.')
  if (!grant.may.includes('steal'))
    throw new ApiFailure(403, 'FORBIDDEN', `${grant.user} may not steal.`)
  if (!new Sight(grant.prefix).sees(lock))
    throw new ApiFailure(404, 'NO_SUCH_LOCK', 'There is no such lock.')
  if (typed !== lock)
    throw new ApiFailure(400, 'NOT_CONFIRMED', 'The typed name is not that of the lock.')
}
