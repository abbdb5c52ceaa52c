/** The first attempt of a claim, which is all that a free lock needs. */
import type { AttemptResult } from '../store/contract.js'
import { isPromise, type MaybePromise } from '../store/maybe-promise.js'
import type { ClaimShape, Client } from './client.js'
import { Grant, withLocalWaiters } from './grant.js'
import { optionsOf, Seek, type SeekListener, type SeekTerms } from './seek.js'
import { announceAttempt } from './sent.js'
import { isRetryable } from './withdrawal.js'

/**
 * Attempts a new claim. Gives the grant if the store grants it in the same turn; else a seek, which goes on until
 * `done` is called or it is stopped. Throws what the store threw in the same turn, unless it is to be tried again.
 */
export function seek(
  client: Client,
  shape: ClaimShape,
  terms: SeekTerms,
  listener: SeekListener,
): Grant | Seek {
  // Behind the attempts of earlier callers, which are not sent yet.
  const failure = terms.enqueue ? client.retries.failureOf(shape.lock) : undefined
  if (failure) return new Seek(client, shape, terms, listener).hold(failure)
  const sentMs = client.clock.monotonicMs()
  const offsetMs = client.clockOffsetMs(sentMs)
  const claim = withLocalWaiters(client.newClaim(shape, offsetMs), terms.localWaiters())
  let answer: MaybePromise<AttemptResult>
  try {
    answer = client.store.attempt(claim, optionsOf(terms))
  } catch (error) {
    if (!terms.enqueue || !isRetryable(client.asLockError(error, claim.lock, 'the attempt'))) throw error
    answer = Promise.reject(error)
  }
  if (isPromise(answer) || answer.outcome !== 'granted' || answer.existing) {
    return new Seek(client, shape, terms, listener).begin({ claim, sentMs, offsetMs }, answer)
  }
  announceAttempt(client, { claim, sentMs, offsetMs }, answer)
  const { token, tokens, ttlMs } = answer
  return new Grant(client, claim, { token, tokens, ttlMs, baseMs: sentMs, offsetMs }, terms.renews, sentMs)
}
