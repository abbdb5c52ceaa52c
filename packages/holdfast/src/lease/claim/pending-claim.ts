/**
 * One claim on its way to a grant: it attempts, queues, watches, and attempts again until the store
 * grants it or its caller stops it.
 *
 * Correctness rests on the attempts alone. A wake-up saves time; a lost wake-up costs one
 * heartbeat. When the claim ends in doubt, the client withdraws it, so that no grant is left
 * without a holder.
 */
import type { AttemptResult, PushedGrant, RenewResult } from '../../store/contract.js'
import { LockLostError } from '../../errors.js'
import { invariant } from '../../invariant.js'
import { ClaimAttempts } from './claim-attempts.js'
import {
  afterBusy,
  afterDoubt,
  afterWaiting,
  ENDED,
  evidenceOf,
  isAged,
  termsOfFoundGrant,
  termsOfPush,
  type ClaimState,
} from './claim-state.js'
import { ANNOUNCE_EARLY_MS } from '../grant/deadline.js'
import { channels } from '../runtime/events.js'
import { Grant, type GrantOffer, type Moment } from '../grant/grant.js'
import { renewOnce } from '../renew/renew-once.js'
import { announceAnswer, type SentAttempt } from '../runtime/sent-attempt.js'
import { isRetryable } from '../release/release-until-answered.js'

/** After this many attempts on a busy lock a claim is no new one. */
const POLLS_OF_NEW_CLAIMS = 8

export class PendingClaim extends ClaimAttempts {
  take(sent: SentAttempt, answer: AttemptResult): void {
    if (channels.attempted.hasSubscribers) announceAnswer(this.services.runtime, sent, answer)
    // The answer may be about an earlier claim that was given up.
    if (this.state === ENDED || sent.claim.id !== this.claim.id) return
    this.isAnswered = true
    if (this.log) this.noteAnswered(this.log, sent)
    switch (answer.outcome) {
      case 'granted': {
        if (this.trustedFromMs !== undefined && sent.sentMs < this.trustedFromMs) return
        if (!answer.alreadyGranted) return this.grant(answer, sent)
        const terms = termsOfFoundGrant(answer, sent, this.state)
        return this.grant(terms, terms)
      }
      case 'waiting':
        this.queueNumber = answer.queueNumber ?? this.queueNumber
        return this.queue(sent, answer.holderRemainingMs)
      case 'busy':
        return this.poll(sent, answer.holderRemainingMs)
      case 'withdrawn':
        if (answer.stolen === true) return this.stolen(answer.stealReason)
        // Its place was lost, for instance because a pushed grant ran out while this process slept.
        return this.restart()
    }
  }

  protected takePush(message: PushedGrant): void {
    const evidence = evidenceOf(this.state)
    // In doubt nothing is known from before the grant, so its TTL cannot be counted. The answer
    // that is awaited decides.
    if (evidence.name !== 'queued') return
    const terms = termsOfPush(message, this.claim, evidence)
    if (terms) this.grant(terms, terms)
    else this.send()
  }

  /** Ends the claim, which a steal took out of the queue. */
  private stolen(stealReason: string | undefined): void {
    const { runtime } = this.services
    this.end()
    const details = { lock: this.lock, store: runtime.store.name, stealReason, isWaiting: true }
    this.listener.done(undefined, new LockLostError('stolen', details))
  }

  /** @param isWhole whether it has just been renewed to its whole TTL */
  private grant(offer: GrantOffer, since: Moment, isWhole = false): void {
    const { runtime } = this.services
    const nowMs = runtime.clock.monotonicMs()
    const offsetMs = runtime.clockOffsetMs(nowMs)
    const { renews } = this.terms
    const grant = new Grant(this.claim, offer, since, renews, runtime.clockTrust)
    grant.grantedMs = nowMs
    if (grant.deadlineMs - ANNOUNCE_EARLY_MS <= nowMs) {
      // It ended on the way here, or its end would be announced at once.
      this.giveUpClaim()
    } else if (grant.clocksDisagree(nowMs, offsetMs)) {
      runtime.clockTrust.noteAnswer(true, nowMs, offsetMs)
      this.state = afterDoubt(this.state)
      this.trustedFromMs = nowMs
      this.send()
    } else if (!isWhole && !renews && isAged(this.state, this.claim, offer, since, nowMs))
      this.topUp(offer)
    else {
      this.end()
      grant.queueNumber = this.queueNumber
      this.listener.done(grant)
    }
  }

  /** Renews a granted claim before its lease is handed out. */
  private topUp({ token, tokens }: GrantOffer): void {
    const before = evidenceOf(this.state)
    // An attempt that is answered "granted" meanwhile changes nothing.
    if (this.state.name === 'topping-up') return
    invariant(before.name !== 'unsent' && before.name !== 'ended', 'a grant answers an attempt')
    const state: ClaimState = { name: 'topping-up', before }
    this.state = state
    const claim = this.claim
    const { runtime } = this.services
    const sentMs = runtime.clock.monotonicMs()
    const offsetMs = runtime.clockOffsetMs(sentMs)
    const renewed = (outcome?: RenewResult['outcome']): void => {
      if (this.state.name !== 'topping-up' || this.claim.id !== claim.id) return
      this.state = this.state.before
      if (outcome === 'renewed') {
        // The answer may be late, or have come after a sleep. Then the lease is not handed out.
        this.grant({ token, tokens, ttlMs: claim.ttlMs }, { sentMs, offsetMs }, true)
      } else if (outcome === 'lost') this.giveUpClaim()
      // The next attempt reports whether the claim is still granted.
      else this.attemptAfter(runtime.jitter(...runtime.store.traits.pollRangeMs))
    }
    renewOnce(runtime, claim, renewed)
  }

  /** Withdraws a claim whose grant is over, and begins again. */
  private giveUpClaim(): void {
    this.services.withdrawals.inBackground(this.claim)
    this.restart()
  }

  private queue(sent: SentAttempt, holderRemainingMs: number | undefined): void {
    const { runtime } = this.services
    if (evidenceOf(this.state).name !== 'queued') runtime.announce('queued', sent.claim, {})
    const nowMs = runtime.clock.monotonicMs()
    this.state = afterWaiting(this.state, sent, nowMs, runtime.clockOffsetMs(nowMs))
    // A heartbeat that comes before that asks anyway: the timer would nearly always be cancelled.
    const isNear = holderRemainingMs !== undefined && holderRemainingMs < this.claim.heartbeatMs
    const pollMs = runtime.store.traits.wakeUp === 'poll' ? this.pollInQueueMs() : Infinity
    const afterMs = Math.min(isNear ? holderRemainingMs : Infinity, pollMs)
    this.attemptAfter(afterMs === Infinity ? undefined : afterMs)
    this.wakeUps?.join()
    this.listener.waiting?.()
  }

  /** Returns the pause of a waiter that nothing wakes. The pauses grow, up to a heartbeat. */
  private pollInQueueMs(): number {
    const { runtime } = this.services
    const [shortestMs, longestMs] = runtime.store.traits.pollRangeMs
    const limitMs = Math.min(longestMs, this.claim.heartbeatMs)
    const pauseMs = Math.min(limitMs, shortestMs * 1.5 ** this.pollsInQueue)
    this.pollsInQueue += 1
    return runtime.jitter(0.75, 1) * pauseMs
  }

  /** The lock is busy, and the store keeps no queue: attempts again ever more slowly. */
  private poll(sent: SentAttempt, holderRemainingMs: number | undefined): void {
    if (!this.terms.enqueue) {
      if (this.waitsForRelease()) return
      this.end()
      this.listener.done(undefined)
      return
    }
    this.services.pauses?.noteTaken(this.lock)
    const attempted = afterBusy(this.state, sent)
    this.state = attempted
    const { runtime } = this.services
    const [shortestMs, longestMs] = runtime.store.traits.pollRangeMs
    // A claim that has waited for about a second attempts as often as new ones, or these would get
    // the lock before it.
    const { polls } = attempted
    const growth = polls > POLLS_OF_NEW_CLAIMS ? 2 : 1.5 ** polls
    const pollMs = Math.min(longestMs, shortestMs * growth)
    this.attemptAfter(Math.min(runtime.jitter(shortestMs, pollMs), holderRemainingMs ?? Infinity))
  }

  /**
   * Takes the failure of an attempt. A claim with a waiting caller outlives an outage: it attempts
   * again with the same id, since the outcome of the attempt is unknown. Wrong credentials stay
   * wrong, and an attempt that does not queue fails at once.
   */
  fail(sent: SentAttempt, caught: unknown): void {
    // No caller wants the claim, or a later attempt was answered.
    if (this.isOver || sent.claim.id !== this.claim.id || this.log?.isOpen(sent.sentMs) === false)
      return
    const { runtime, retries, withdrawals } = this.services
    const error = runtime.asLockError(caught, this.lock, 'the attempt')
    if (error.code === 'LOCK_MISMATCH' && this.waitsForRelease()) return
    if (this.terms.enqueue && isRetryable(error)) {
      retries.add(this, error)
      this.listener.failing?.(this.attempts().noteFailed(sent.claim, sent.sentMs, error))
      return
    }
    this.end()
    withdrawals.inBackground(this.claim)
    this.listener.done(undefined, error)
  }
}
