/**
 * The attempts of one claim: the first one, later ones by wake-ups, and those that are sent again
 * after an outage. `PendingClaim` decides what the answers mean.
 */
import type { AttemptResult, Claim, PushedGrant } from '../../store/contract.js'
import type { LockError } from '../../errors.js'
import { invariant } from '../../invariant.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import { AttemptLog } from './attempt-log.js'
import type { Retryable } from '../wait/retry-rounds.js'
import { ENDED, evidenceOf, UNSENT, type ClaimState } from './claim-state.js'
import type { ClaimListener, ClaimTerms } from './claim-terms.js'
import { withLocalWaiters } from '../grant/grant.js'
import type { AwaitedClaim } from '../runtime/open-waits.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import { listenToAnswer } from '../runtime/listen-to-answer.js'
import { SentAttempt, type AnswerTaker } from '../runtime/sent-attempt.js'
import type { Services } from '../services.js'
import { ClaimWakeUps } from '../wait/claim-wake-ups.js'

/** With what a claim begins. */
export interface FirstAttempt {
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

export abstract class ClaimAttempts implements Retryable, AwaitedClaim, AnswerTaker {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly order: number
  /** Where the claim stands in the store's queue, if the store reports it: see `Waiting`. */
  declare queueNumber: number | undefined
  declare protected readonly services: Services
  declare private readonly template: ClaimTemplate
  declare protected readonly terms: ClaimTerms
  declare protected readonly listener: ClaimListener
  /** Made for the second attempt, or for the first one when that is late: see `attempts`. */
  declare protected log: AttemptLog | undefined
  /** Whether any attempt was answered. */
  declare protected isAnswered: boolean
  declare protected claim: Claim
  declare protected state: ClaimState
  /** Answers to attempts that left before may be about a grant that is over. */
  declare protected trustedFromMs: number | undefined
  declare private behind: Promise<unknown> | undefined
  /** How often the claim was answered that it waits, where nothing wakes it. */
  declare protected pollsInQueue: number
  /** Made when the claim has to wait. */
  declare protected wakeUps: ClaimWakeUps | undefined

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
    this.pollsInQueue = 0
    this.log = this.wakeUps = this.queueNumber = this.trustedFromMs = undefined
  }

  /**
   * Takes the answer to an attempt. Where the store answers at once, it takes the answer at once,
   * since the watch must not begin later than needed.
   */
  abstract take(sent: SentAttempt, answer: AttemptResult): void

  /** Takes the failure of an attempt. */
  abstract fail(sent: SentAttempt, caught: unknown): void

  /** Takes the answer to an attempt, or its failure, when it comes. */
  hear(sent: SentAttempt, answer: MaybePromise<AttemptResult>): void {
    if (!('then' in answer)) {
      this.take(sent, answer)
      return
    }
    sent.taker = this
    listenToAnswer(answer, sent)
  }

  /** Takes a grant that a wake-up carried. */
  protected abstract takePush(pushed: PushedGrant): void

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

  protected send(isRetry = false): void {
    invariant(!this.isOver, 'a claim that has ended sends no attempt', this.lock)
    const { runtime } = this.services
    const { options, localWaiters } = this.terms.attemptTerms()
    this.claim = withLocalWaiters(this.claim, localWaiters)
    const sentMs = runtime.clock.monotonicMs()
    const sent = new SentAttempt(this.claim, sentMs, runtime.clockOffsetMs(sentMs))
    let answer: MaybePromise<AttemptResult>
    try {
      answer = runtime.store.attempt(this.claim, options)
    } catch (error) {
      answer = Promise.reject(error)
    }
    this.noteSent(sent, isRetry)
    this.hear(sent, answer)
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

  protected noteAnswered(log: AttemptLog, { sentMs }: SentAttempt): void {
    if (log.outage) this.services.retries.delete(this)
    log.noteAnswered(sentMs)
  }

  /** Attempts again once the release is answered behind which the first attempt has left. */
  protected waitsForRelease(): boolean {
    const release = this.behind
    this.behind = undefined
    if (!release || !this.services.releases.byLock.has(this.lock)) return false
    this.sendAfter(release)
    return true
  }

  protected attemptAfter(delayMs: number | undefined): void {
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
  protected attempts(): AttemptLog {
    if (this.log) return this.log
    const first = this.state.name === 'attempted' ? this.state.first.sentMs : undefined
    this.log = new AttemptLog(this.services.runtime, this.isAnswered ? undefined : first)
    return this.log
  }

  checkLate(nowMs: number, awakeMs: number): number {
    return this.attempts().checkLate(this.claim, nowMs, awakeMs)
  }

  /** Begins again with a fresh claim, at the end of the queue. */
  protected restart(): void {
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

  protected end(): void {
    invariant(this.state !== ENDED, 'a claim ends once', this.template.lock)
    this.state = ENDED
    if (this.log?.outage) this.services.retries.delete(this)
    this.wakeUps?.close()
  }
}
