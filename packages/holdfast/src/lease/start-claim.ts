/** Sends the first attempt of a claim. A free lock needs no more than that. */
import type { AttemptResult } from '../store/contract.js'
import { isPromise, type MaybePromise } from '../store/maybe-promise.js'
import type { ClaimTemplate, Client } from './client.js'
import { Grant, withLocalWaiters } from './grant.js'
import { optionsOf, PendingClaim, type ClaimListener, type ClaimTerms } from './pending-claim.js'
import { announceAttempt } from './sent.js'
import { isRetryable } from './withdrawal.js'

/**
 * Attempts a new claim. Returns the grant if the store grants it synchronously. Otherwise returns
 * the pending claim, which goes on until it calls `done` or the caller stops it.
 * @throws what the store threw synchronously, unless the claim retries after it
 */
export function startClaim(
  client: Client,
  template: ClaimTemplate,
  terms: ClaimTerms,
  listener: ClaimListener,
): Grant | PendingClaim {
  // Behind the attempts of earlier callers, which are not sent yet.
  const failure = terms.enqueue ? client.retries.failureOf(template.lock) : undefined
  if (failure) return new PendingClaim(client, template, terms, listener).hold(failure)
  const sentMs = client.clock.monotonicMs()
  const offsetMs = client.clockOffsetMs(sentMs)
  const claim = withLocalWaiters(client.newClaim(template, offsetMs), terms.localWaiters())
  let answer: MaybePromise<AttemptResult>
  try {
    answer = client.store.attempt(claim, optionsOf(terms))
  } catch (error) {
    if (!terms.enqueue || !isRetryable(client.asLockError(error, claim.lock, 'the attempt')))
      throw error
    answer = Promise.reject(error)
  }
  if (isPromise(answer) || answer.outcome !== 'granted' || answer.alreadyGranted) {
    return new PendingClaim(client, template, terms, listener).begin(
      { claim, sentMs, offsetMs },
      answer,
    )
  }
  announceAttempt(client, { claim, sentMs, offsetMs }, answer)
  const { token, tokens, ttlMs } = answer
  return new Grant(
    client,
    claim,
    { token, tokens, ttlMs, baseMs: sentMs, offsetMs },
    terms.renews,
    sentMs,
  )
}
