/** Sends the first attempt of a claim. A free lock needs no more than that. */
import type { AttemptResult } from '../../store/contract.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import { Grant } from '../grant/grant.js'
import type { ClaimListener, ClaimTerms } from './claim-terms.js'
import type { Obstacle } from './claim-attempts.js'
import { PendingClaim } from './pending-claim.js'
import { channels } from '../runtime/events.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import { announceAnswer, SentAttempt } from '../runtime/sent-attempt.js'
import type { Services } from '../services.js'
import { isRetryable } from '../release/release-until-answered.js'

/**
 * Attempts a new claim. Returns the grant if the store grants it at once, and undefined if the
 * listener was called already. Otherwise returns the pending claim, which continues until it calls
 * the listener or its caller stops it.
 *
 * @param waitMs how long its first caller waits at most
 * @throws what the store threw in this call, unless the claim attempts again after it
 */
export function startClaim(
  services: Services,
  template: ClaimTemplate,
  terms: ClaimTerms,
  listener: ClaimListener,
  waitMs = Infinity,
): Grant | PendingClaim | undefined {
  const { runtime, retries, releases, pauses } = services
  const sentMs = runtime.clock.monotonicMs()
  const offsetMs = runtime.clockOffsetMs(sentMs)
  const { options, localWaiters } = terms.attemptTerms()
  const claim = runtime.newClaim(template, offsetMs, localWaiters)
  const release = releases.byLock.get(template.lock)
  if (release || pauses || retries.waiting.size > 0) {
    const obstacle = obstacleTo(services, template, terms, waitMs)
    if (obstacle)
      return new PendingClaim(services, template, terms, listener, { claim }).wait(obstacle)
  }
  let answer: MaybePromise<AttemptResult>
  try {
    answer = runtime.store.attempt(claim, options)
  } catch (error) {
    if (!terms.enqueue || !isRetryable(runtime.asLockError(error, claim.lock, 'the attempt')))
      throw error
    answer = Promise.reject(error)
  }
  const sent = new SentAttempt(claim, sentMs, offsetMs)
  if ('then' in answer || answer.outcome !== 'granted' || answer.alreadyGranted) {
    const first = { claim, sent, behind: release }
    const pending = new PendingClaim(services, template, terms, listener, first)
    pending.hear(sent, answer)
    // A store that answers at once may have ended the claim.
    return 'then' in answer || !pending.isOver ? pending : undefined
  }
  if (channels.attempted.hasSubscribers) announceAnswer(runtime, sent, answer)
  return new Grant(claim, answer, sent, terms.renews, runtime.clockTrust)
}

/** Returns what a new claim waits for before its first attempt. */
function obstacleTo(
  { runtime, retries, releases, pauses }: Services,
  { lock }: ClaimTemplate,
  { enqueue }: ClaimTerms,
  waitMs: number,
): Obstacle | undefined {
  // The attempts of earlier callers are not sent yet.
  const failure = enqueue && retries.waiting.size > 0 ? retries.failureOf(lock) : undefined
  if (failure) return { failure }
  const release = releases.byLock.get(lock)
  if (release && runtime.store.traits.ordered !== true) return { until: release }
  const pause = enqueue ? pauses?.before(lock, waitMs) : undefined
  return pause && { until: pause }
}
