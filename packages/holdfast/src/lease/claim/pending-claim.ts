/**
 * One claim on its way to a grant: it attempts, queues, watches, and attempts again until the store
 * grants it or its caller stops it.
 *
 * Correctness rests on the attempts alone. A wake-up saves time; a lost wake-up costs one
 * heartbeat. When the claim ends in doubt, the client withdraws it, so that no grant is left
 * without a holder.
 */
import type { AttemptResult, Claim, PushedGrant, RenewResult } from '../../store/contract.js'
import type { LockError } from '../../errors.js'
import { invariant } from '../../invariant.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import { AttemptLog } from './attempt-log.js'
import type { Retryable } from '../wait/retry-rounds.js'
import {
  afterBusy,
  afterWaiting,
  ENDED,
  evidenceOf,
  isAged,
  termsOfFoundGrant,
  termsOfPush,
  UNSENT,
  type ClaimState,
} from './claim-state.js'
import type { ClaimListener, ClaimTerms } from './claim-terms.js'
import { channels } from '../runtime/events.js'
import { Grant, withLocalWaiters, type GrantTerms } from '../grant/grant.js'
import type { AwaitedClaim } from '../runtime/open-waits.js'
import { renewOnce } from '../renew/renew-once.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import { announceAnswer, type SentAttempt } from '../runtime/sent-attempt.js'
import type { Services } from '../services.js'
import { ClaimWakeUps } from '../wait/claim-wake-ups.js'
import { isRetryable } from '../release/withdrawals.js'

/** After this many attempts on a busy lock a claim is no new one. */
const POLLS_OF_NEW_CLAIMS = 8

/** With what a claim begins. */
interface FirstAttempt {
  readonly claim: Claim
  /** The attempt, if it has left. */
  readonly sent?: SentAttempt
  /**
   * The open release of this client behind which the attempt has left. A broken connection may have
   * changed their order. So an attempt that finds the lock taken before the release is answered
   * counts only if a second one after the answer finds the same.
   */
  readonly behind?: Promise<unknown> | undefined
}

/**
 * What stands before the first attempt: an open release of this client, the pause after it, or an
 * outage. After an outage all attempts leave with the next round of retries.
 */
export type Obstacle = { readonly until: Promise<unknown> } | { readonly failure: LockError }

export class PendingClaim implements Retryable, AwaitedClaim {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly order: number
  /** Where the claim stands in the store's queue, if the store reports it: see `Waiting`. */
  declare queueNumber: number | undefined
  declare private readonly services: Services
  declare private readonly template: ClaimTemplate
  declare private readonly terms: ClaimTerms
  declare private readonly listener: ClaimListener
  /** Made for the second attempt, or for the first one when that is late: see `attempts`. */
  declare private log: AttemptLog | undefined
  /** Whether any attempt was answered. */
  declare private isAnswered: boolean
  declare private claim: Claim
  declare private state: ClaimState
  /** Answers to attempts that left before may be about a grant that is over. */
  declare private trustedFromMs: number | undefined
  declare private behind: Promise<unknown> | undefined
  /** Made when the claim has to wait. */
  declare private wakeUps: ClaimWakeUps | undefined

  constructor(
    services: Services,
    template: ClaimTemplate,
    terms: ClaimTerms,
    listener: ClaimListener,
    { claim, sent, behind }: FirstAttempt,
  ) {
    this.order = services.runtime.claims
    this.services = services
    this.template = template
    this.terms = terms
    this.listener = listener
    this.claim = claim
    this.state = sent ? { name: 'attempted', first: sent, polls: 0, isResent: false } : UNSENT
    this.behind = behind
    this.isAnswered = false
    this.log = this.wakeUps = this.queueNumber = this.trustedFromMs = undefined
  }

  get lock(): string {
    return this.template.lock
  }

  get claimId(): string {
    return this.claim.id
  }

  /** Whether it has ended: `done` was called, or it was stopped. */
  get isOver(): boolean {
    return this.state === ENDED
  }

  /** The latest time at which the claim certainly was not granted yet, by the monotonic clock. */
  get waitedMs(): number | undefined {
    const evidence = evidenceOf(this.state)
    return evidence.name === 'queued' ? evidence.waiting.sentMs : undefined
  }

  /** Why it is unknown whether the lock is busy: the store does not answer. */
  get failure(): LockError | undefined {
    return this.log?.outage?.error
  }

  get unansweredSinceMs(): number | undefined {
    return this.isAnswered ? undefined : this.attempts().unansweredSinceMs
  }

  /** Begins when nothing stands before the first attempt any more. */
  wait(obstacle: Obstacle): this {
    if ('until' in obstacle) this.sendAfter(obstacle.until)
    else {
      this.attempts().beginOutage(obstacle.failure)
      this.services.retries.add(this, obstacle.failure)
    }
    return this
  }

  private sendAfter(release: Promise<unknown>): void {
    this.attempts().noteHeldBack()
    void release.then(() => {
      if (!this.isOver) this.send()
    })
  }

  /** Attempts now, unless no attempt has left yet. */
  attemptNow(): void {
    if (!this.isOver && this.state !== UNSENT) this.send()
  }

  retry(): void {
    if (!this.isOver) this.send(true)
  }

  /** Ends the claim, since no caller wants the lock any more. `done` is not called. */
  stop(): void {
    if (this.isOver) return
    const wasSent = this.state !== UNSENT
    this.end()
    if (wasSent) this.services.withdrawals.inBackground(this.claim)
  }

  private send(isRetry = false): void {
    invariant(!this.isOver, 'a claim that has ended sends no attempt', this.lock)
    const { runtime } = this.services
    const { options, localWaiters } = this.terms.attemptTerms()
    this.claim = withLocalWaiters(this.claim, localWaiters)
    const sentMs = runtime.clock.monotonicMs()
    const sent = { claim: this.claim, sentMs, offsetMs: runtime.clockOffsetMs(sentMs) }
    let answer: MaybePromise<AttemptResult>
    try {
      answer = runtime.store.attempt(this.claim, options)
    } catch (error) {
      answer = Promise.reject(error)
    }
    this.noteSent(sent, isRetry)
    this.take(sent, answer)
  }

  private noteSent(sent: SentAttempt, isRetry: boolean): void {
    const { state } = this
    if (state === UNSENT) {
      this.log?.noteSent(sent.sentMs)
      this.state = { name: 'attempted', first: sent, polls: 0, isResent: isRetry }
    } else {
      this.attempts().noteSent(sent.sentMs)
      if (isRetry && state.name === 'attempted') this.state = { ...state, isResent: true }
    }
  }

  /**
   * Takes the answer to an attempt when it comes. Where the store answers at once, it takes the
   * answer at once, since the watch must not begin later than needed.
   */
  take(sent: SentAttempt, answer: MaybePromise<AttemptResult>): void {
    if ('then' in answer) {
      answer.then(this.take.bind(this, sent), this.fail.bind(this, sent))
      return
    }
    if (channels.attempted.hasSubscribers) announceAnswer(this.services.runtime, sent, answer)
    // The answer may be about an earlier claim that was given up.
    if (this.state === ENDED || sent.claim.id !== this.claim.id) return
    this.isAnswered = true
    if (this.log) this.noteAnswered(this.log, sent)
    switch (answer.outcome) {
      case 'granted': {
        if (this.trustedFromMs !== undefined && sent.sentMs < this.trustedFromMs) return
        const { token, tokens, ttlMs } = answer
        return this.grant(
          answer.alreadyGranted
            ? termsOfFoundGrant(answer, sent, this.state)
            : { token, tokens, ttlMs, baseMs: sent.sentMs, offsetMs: sent.offsetMs },
        )
      }
      case 'waiting':
        this.queueNumber = answer.queueNumber ?? this.queueNumber
        return this.queue(sent, answer.holderRemainingMs)
      case 'busy':
        return this.poll(sent, answer.holderRemainingMs)
      case 'withdrawn':
        // Its place was lost, for instance because a pushed grant ran out while this process slept.
        return this.restart()
    }
  }

  private noteAnswered(log: AttemptLog, { sentMs }: SentAttempt): void {
    if (log.outage) this.services.retries.delete(this)
    log.noteAnswered(sentMs)
  }

  private takePush(message: PushedGrant): void {
    const evidence = evidenceOf(this.state)
    // In doubt nothing is known from before the grant, so its TTL cannot be counted. The answer
    // that is awaited decides.
    if (evidence.name !== 'queued') return
    const terms = termsOfPush(message, this.claim, evidence)
    if (terms) this.grant(terms)
    else this.send()
  }

  /** @param isWhole whether it has just been renewed to its whole TTL */
  private grant(terms: GrantTerms, isWhole = false): void {
    const { runtime } = this.services
    const nowMs = runtime.clock.monotonicMs()
    const offsetMs = runtime.clockOffsetMs(nowMs)
    const grant = new Grant(this.claim, terms, this.terms.renews, nowMs, runtime.clockTrust)
    if (grant.deadlineMs <= nowMs) {
      // It ended on the way here.
      this.giveUpClaim()
    } else if (grant.clocksDisagree(nowMs, offsetMs)) {
      runtime.clockTrust.noteAnswer(true, nowMs, offsetMs)
      const evidence = evidenceOf(this.state)
      const silentMs = 'silentMs' in evidence ? evidence.silentMs : 0
      this.state = { name: 'in-doubt', silentMs }
      this.trustedFromMs = nowMs
      this.send()
    } else if (!isWhole && !this.terms.renews && isAged(this.state, this.claim, terms, nowMs))
      this.topUp(terms)
    else {
      this.end()
      grant.queueNumber = this.queueNumber
      this.listener.done(grant)
    }
  }

  /** Renews a granted claim before its lease is handed out. */
  private topUp(terms: GrantTerms): void {
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
        this.grant({ ...terms, ttlMs: claim.ttlMs, baseMs: sentMs, offsetMs }, true)
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
    this.attemptAfter(isNear ? holderRemainingMs : undefined)
    this.wakeUps?.join()
    this.listener.waiting?.()
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

  /** Attempts again once the release is answered behind which the first attempt has left. */
  private waitsForRelease(): boolean {
    const release = this.behind
    this.behind = undefined
    if (!release || !this.services.releases.byLock.has(this.lock)) return false
    this.sendAfter(release)
    return true
  }

  private attemptAfter(delayMs: number | undefined): void {
    this.wakeUps ??= new ClaimWakeUps(this.services, this.claim, {
      attempt: () => this.send(),
      // Sent also when an older attempt is unanswered, which may be lost. In an outage the retries
      // take its place.
      heartbeat: () => {
        if (!this.log?.outage || !this.services.retries.has(this)) this.send()
      },
      pushed: (grant) => this.takePush(grant),
    })
    this.wakeUps.attemptAfter(delayMs)
  }

  /** Returns the log of the attempts. Until it is made, only the first one can be unanswered. */
  private attempts(): AttemptLog {
    if (this.log) return this.log
    const first = this.state.name === 'attempted' ? this.state.first.sentMs : undefined
    this.log = new AttemptLog(this.services.runtime, this.isAnswered ? undefined : first)
    return this.log
  }

  checkLate(nowMs: number, awakeMs: number): number {
    return this.attempts().checkLate(this.claim, nowMs, awakeMs)
  }

  /**
   * Takes the failure of an attempt. A claim with a waiting caller outlives an outage: it attempts
   * again with the same id, since the outcome of the attempt is unknown. Wrong credentials stay
   * wrong, and an attempt that does not queue fails at once.
   */
  private fail(sent: SentAttempt, caught: unknown): void {
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

  /** Begins again with a fresh claim, at the end of the queue. */
  private restart(): void {
    this.wakeUps?.close()
    this.wakeUps = undefined
    // The next attempt is not the first one.
    this.attempts()
    this.claim = this.services.runtime.newClaim(this.template)
    this.state = UNSENT
    this.trustedFromMs = undefined
    this.queueNumber = undefined
    this.send()
  }

  private end(): void {
    invariant(this.state !== ENDED, 'a claim ends once', this.template.lock)
    this.state = ENDED
    if (this.log?.outage) this.services.retries.delete(this)
    this.wakeUps?.close()
  }
}
