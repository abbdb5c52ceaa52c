/** The request to steal a claim, checked. */
import { checkText } from '../../store/names.js'
import { ApiFailure } from '../access/failure.js'
import type { StealRequest } from '../view.js'

const CLAIM_ID = /^[\w.-]{1,64}$/
const MAX_REASON_BYTES = 256
const LONGEST_NAME = 2_048

/** @throws ApiFailure for a body of another form. */
export function readStealRequest(body: unknown): StealRequest {
  if (typeof body !== 'object' || body === null) throw unreadable('it is no object')
  const { store, lock, claimId, typed, reason, now } = body as Partial<
    Record<keyof StealRequest, unknown>
  >
  if (typeof lock !== 'string' || lock === '' || lock.length > LONGEST_NAME)
    throw unreadable('lock is no name')
  if (typeof claimId !== 'string' || !CLAIM_ID.test(claimId))
    throw unreadable('claimId is no claim')
  if (typeof typed !== 'string' || typeof reason !== 'string')
    throw unreadable('typed and reason are texts')
  // Any other true value, such as the text 'false', would free the lock under running code.
  if (typeof now !== 'boolean') throw unreadable('now is true or false')
  if (store !== undefined && typeof store !== 'string') throw unreadable('store is no name')
  return { ...(store === undefined ? {} : { store }), lock, claimId, typed, reason, now }
}

/**
 * Returns the reason that the holder learns.
 * @throws ApiFailure for one that is empty, too long, or not printable.
 */
export function fullReason(user: string, reason: string): string {
  if (reason.trim() === '')
    throw new ApiFailure(400, 'NO_REASON', 'Write a reason: the holder reads it.')
  try {
    return checkText(`${user}: ${reason.trim()}`, 'reason', MAX_REASON_BYTES)
  } catch (error) {
    throw new ApiFailure(400, 'BAD_REASON', (error as Error).message)
  }
}

function unreadable(why: string): ApiFailure {
  return new ApiFailure(400, 'BAD_REQUEST', `The request makes no sense: ${why}.`)
}
