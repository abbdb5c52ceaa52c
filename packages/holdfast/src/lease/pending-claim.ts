/**
 * One claim on its way to a grant: it attempts, queues, watches, and attempts again until the store
 * grants it or the caller stops it.
 *
 * Correctness rests on the attempts alone. A wake-up saves time; a lost wake-up costs one
 * heartbeat. When the claim ends in doubt, the client withdraws it, so that no grant is left
 * without a holder.
 */
import type { Timer } from '../clock/clock.js'
import {
  HEARTBEATS_TO_LIVE,
  type AttemptOptions,
  type AttemptResult,
  type Claim,
  type Granted,
  type PushedGrant,
  type RenewResult,
  type Watch,
} from '../store/contract.js'
import type { LockError } from '../errors.js'
import { isPromise, type MaybePromise } from '../store/maybe-promise.js'
import type { ClaimTemplate, Client } from './client.js'
import { clocksParted, grantBaseMs, leaseEndMs } from './deadline.js'
import { publish } from './events.js'
import { Grant, withLocalWaiters, type GrantTerms } from './grant.js'
import { NOTED_AFTER_MS, Outage } from './outage.js'
import { announceAttempt, type Sent } from './sent.js'
import { renewOnce } from './renew-once.js'
import type { Retryable } from './retries.js'
import { isRetryable } from './withdrawal.js'

export interface ClaimTerms {
  /**
   * Whose earliest caller gets the first grant, whichever claim it was made for: see
   * `AttemptOptions.queue`.
   */
  readonly queue?: object
  /** Join the store's queue. Without it, a busy lock ends the claim. */
  readonly enqueue: boolean
  readonly renews: boolean
  /** Returns how many tokens to reserve. Called before each attempt. */
  tokens(): number
  /** How many callers of this process stand behind the claim. */
  localWaiters(): number
}

/**
 * A wait may use up this share of the TTL of a lease that is not renewed. Beyond it one renewal
 * makes good for it.
 */
const AGED_SHARE = 0.01

/** Receives what becomes of a claim. */
export interface ClaimListener {
  /**
   * Called once. Without a grant and without an error: the lock was busy and the claim did not
   * queue.
   */
  done(grant: Grant | undefined, error?: unknown): void
  /** Called at each attempt that found no store and will be sent again. */
  failing?(outage: Outage): void
}

/** What the terms ask of an attempt. */
export function optionsOf(terms: ClaimTerms): AttemptOptions {
  return { enqueue: terms.enqueue, tokens: terms.tokens(), queue: terms.queue }
}

export class PendingClaim implements Retryable {
  readonly order: number
  readonly lock: string
  readonly #client: Client
  readonly #template: ClaimTemplate
  readonly #terms: ClaimTerms
  readonly #listener: ClaimListener
  #claim!: Claim
  #over = false
  #first: Sent | undefined
  /** When the last request left that was answered, whatever the answer. */
  #answeredMs = -Infinity
  /** Since an attempt found no store, until one is answered. */
  #outage: Outage | undefined
  /** The last request that was answered "waiting": a grant that is reported later came after it. */
  #waiting: Sent | undefined
  /** The longest time between a request and the next one that was answered "waiting". */
  #silentMs = 0
  /** When a grant was last in doubt. Answers to what was asked before do not count. */
  #doubtedMs = -Infinity
  #queueNumber: number | undefined
  #watch: Watch | undefined
  #leaveHeartbeats: (() => void) | undefined
  #retry: Timer | undefined
  #polls = 0
  /** An attempt found no store, and was sent again. */
  #retried = false
  /** A renewal is on its way that gives a fixed lease its whole TTL. */
  #toppingUp = false

  constructor(client: Client, template: ClaimTemplate, terms: ClaimTerms, listener: ClaimListener) {
    this.order = client.retries.nextOrder()
    this.lock = template.lock
    this.#client = client
    this.#template = template
    this.#terms = terms
    this.#listener = listener
  }

  /** Whether it has ended: `done` was called, or it was stopped. */
  get over(): boolean {
    return this.#over
  }

  /** Where the claim stands in the store's queue, as far as the store tells: see `Waiting`. */
  get queueNumber(): number | undefined {
    return this.#queueNumber
  }

  /** The last moment at which the claim certainly was not granted yet, by the monotonic clock. */
  get waitedMs(): number | undefined {
    return this.#waiting?.sentMs
  }

  /**
   * Why nobody knows whether the lock is busy: the store does not answer. Undefined while it does.
   */
  get failure(): LockError | undefined {
    return this.#outage?.error
  }

  /** Begins with the next round of retries, since the store did not answer an earlier caller. */
  hold(failure: LockError): this {
    this.#claim = this.#client.newClaim(this.#template)
    this.#outage = new Outage(this.#client, failure, this.#client.clock.monotonicMs())
    this.#client.retries.add(this, failure)
    return this
  }

  /** Goes on from a first attempt. `done` may be called before this returns. */
  begin(sent: Sent, answer: MaybePromise<AttemptResult>): this {
    this.#claim = sent.claim
    this.#first = sent
    // At once where it can be: a hint that came before the watch stands would be missed.
    if (isPromise(answer)) this.#await(sent, answer)
    else this.#take(sent, answer)
    return this
  }

  retry(): void {
    this.#retried = true
    if (!this.#over) this.#send()
  }

  /** Nobody wants the lock any more. `done` is not called. */
  stop(): void {
    if (this.#over) return
    const sent = this.#first !== undefined
    this.#end()
    if (sent) this.#client.withdrawals.inBackground(this.#claim)
  }

  #send(): void {
    const { store, clock } = this.#client
    this.#claim = withLocalWaiters(this.#claim, this.#terms.localWaiters())
    const sentMs = clock.monotonicMs()
    const sent: Sent = { claim: this.#claim, sentMs, offsetMs: this.#client.clockOffsetMs(sentMs) }
    this.#first ??= sent
    let answer: MaybePromise<AttemptResult>
    try {
      answer = store.attempt(this.#claim, optionsOf(this.#terms))
    } catch (error) {
      this.#fail(sent, error)
      return
    }
    if (isPromise(answer)) this.#await(sent, answer)
    else this.#take(sent, answer)
  }

  #await(sent: Sent, answer: PromiseLike<AttemptResult>): void {
    this.#client.whenAnswered(
      answer,
      { lock: sent.claim.lock, verb: 'the attempt', late: () => this.#late(sent) },
      (result) => this.#take(sent, result),
      (error) => this.#fail(sent, error),
    )
  }

  #take(sent: Sent, result: AttemptResult): void {
    announceAttempt(this.#client, sent, result)
    // An answer about a claim that was given up is of no use.
    if (this.#over || sent.claim.id !== this.#claim.id) return
    this.#outageOver(sent)
    switch (result.outcome) {
      case 'granted':
        return this.#granted(sent, result)
      case 'waiting':
        this.#queueNumber = result.queueNumber ?? this.#queueNumber
        return this.#queued(sent, result.holderRemainingMs)
      case 'busy':
        return this.#busy(result.holderRemainingMs)
      case 'withdrawn':
        // Its place was lost, for instance because a pushed grant ran out while this process slept.
        return this.#restart()
    }
  }

  #outageOver({ sentMs }: Sent): void {
    this.#answeredMs = Math.max(this.#answeredMs, sentMs)
    if (!this.#outage) return
    this.#outage = undefined
    this.#client.retries.delete(this)
  }

  #granted(sent: Sent, granted: Granted): void {
    // The question that left with the doubt goes on until it is answered.
    if (sent.sentMs < this.#doubtedMs) return
    // An answer that was overtaken by a later "waiting" tells of a grant from before that.
    const waiting = this.#waiting && this.#waiting.sentMs <= sent.sentMs ? this.#waiting : undefined
    const baseMs = grantBaseMs(granted, sent.sentMs, waiting?.sentMs)
    // The clocks are compared from the older of the two moments on, or a sleep in between would go
    // unseen.
    const offsetMs = granted.alreadyGranted
      ? (waiting ?? this.#first ?? sent).offsetMs
      : sent.offsetMs
    this.#grant({
      token: granted.token,
      tokens: granted.tokens,
      ttlMs: granted.ttlMs,
      baseMs,
      offsetMs,
    })
  }

  #pushed(message: PushedGrant): void {
    // No store pushes more than this. A message that says more is damaged or forged: then the first
    // renewal finds out.
    const { ttlMs, heartbeatMs } = this.#claim
    const mostMs = Math.min(ttlMs, heartbeatMs * HEARTBEATS_TO_LIVE)
    const pushed = { ...message, ttlMs: Math.min(message.ttlMs, mostMs) }
    // After such a silence it may be late news: of a grant that ended unseen, before the claim came
    // to wait again. The store knows whether there is another one.
    if (leaseEndMs(0, pushed.ttlMs) <= this.#silentMs) {
      this.#send()
      return
    }
    // In doubt nothing is known from before the grant, so its TTL cannot be counted: the answer
    // that is awaited decides.
    const since = this.#waiting ?? (this.#doubtedMs === -Infinity ? this.#first : undefined)
    if (since) this.#grant({ ...pushed, baseMs: since.sentMs, offsetMs: since.offsetMs })
  }

  /** @param isWhole whether it has just been renewed for its whole TTL */
  #grant(terms: GrantTerms, isWhole = false): void {
    const nowMs = this.#client.clock.monotonicMs()
    if (leaseEndMs(terms.baseMs, terms.ttlMs) <= nowMs) {
      // It ended on the way here.
      this.#giveUpClaim()
      return
    }
    if (clocksParted(this.#client.clockOffsetMs(nowMs), terms.offsetMs, terms.ttlMs)) {
      // The machine may have slept: this grant may be over, and the store may have made another for
      // the same claim since, with another token. Only an answer to a question that leaves now can
      // tell.
      this.#first = this.#waiting = undefined
      this.#doubtedMs = nowMs
      this.#send()
      return
    }
    if (!isWhole && this.#isAged(terms, nowMs)) this.#topUp(terms)
    else this.#finish(terms, nowMs)
  }

  #finish(terms: GrantTerms, nowMs: number): void {
    this.#end()
    const grant = new Grant(this.#client, this.#claim, terms, this.#terms.renews, nowMs)
    grant.queueNumber = this.#queueNumber
    this.#listener.done(grant)
  }

  /**
   * A pushed grant counts from a heartbeat that left before, and one that a retry finds from an
   * attempt before. A lease that is not renewed would end so much earlier.
   */
  #isAged({ baseMs, ttlMs }: GrantTerms, nowMs: number): boolean {
    if (this.#terms.renews || !(this.#waiting || this.#retried)) return false
    return ttlMs < this.#claim.ttlMs || nowMs - baseMs > AGED_SHARE * ttlMs
  }

  /**
   * Renews a granted claim before its lease is handed out. An attempt that is answered "granted"
   * meanwhile comes here, too.
   */
  #topUp(terms: GrantTerms): void {
    if (this.#toppingUp) return
    this.#toppingUp = true
    const claim = this.#claim
    const sentMs = this.#client.clock.monotonicMs()
    const offsetMs = this.#client.clockOffsetMs(sentMs)
    const renewed = (outcome?: RenewResult['outcome']): void => {
      this.#toppingUp = false
      if (this.#over || this.#claim.id !== claim.id) return
      if (outcome === 'renewed') {
        // The answer may be late, or have come after a sleep: such a lease is never handed out.
        this.#grant({ ...terms, ttlMs: claim.ttlMs, baseMs: sentMs, offsetMs }, true)
      } else if (outcome === 'lost') this.#giveUpClaim()
      else this.#attemptAfter(this.#client.jitter(...this.#client.store.traits.pollRangeMs))
    }
    // Where that is unclear, the next attempt says whether the claim is still granted.
    renewOnce(this.#client, claim, renewed)
  }

  /** The claim's grant is over. Never hand out such a lease: withdraws it, and begins again. */
  #giveUpClaim(): void {
    this.#client.withdrawals.inBackground(this.#claim)
    this.#restart()
  }

  #queued(sent: Sent, holderRemainingMs: number | undefined): void {
    if (!this.#waiting) publish('queued', () => this.#client.event(sent.claim))
    this.#noteSilence(this.#waiting ?? this.#first)
    if (!this.#waiting || sent.sentMs > this.#waiting.sentMs) this.#waiting = sent
    // Where a heartbeat comes before that, its answer tells anew: a timer would nearly always be
    // cancelled.
    const isNear = holderRemainingMs !== undefined && holderRemainingMs < this.#claim.heartbeatMs
    this.#attemptAfter(isNear ? holderRemainingMs : undefined)
    this.#leaveHeartbeats ??= this.#client.heartbeats.join(this.#claim.heartbeatMs, () =>
      this.#sendHeartbeat(),
    )
    if (!this.#watch) this.#startWatch()
  }

  /** By either clock: the monotonic one does not count while the machine sleeps. */
  #noteSilence(since: Sent | undefined): void {
    if (!since) return
    const nowMs = this.#client.clock.monotonicMs()
    const partedMs = Math.abs(this.#client.clockOffsetMs(nowMs) - since.offsetMs)
    this.#silentMs = Math.max(this.#silentMs, nowMs - since.sentMs + partedMs)
  }

  #startWatch(): void {
    const claim = this.#claim
    this.#watch = this.#client.store.watch(claim, (grant) => {
      if (this.#over || this.#claim.id !== claim.id) return
      if (grant) this.#pushed(grant)
      else this.#send()
    })
    // What happened before the watch worked was not seen, so look once more.
    this.#watch.ready?.then(
      () => {
        if (!this.#over && this.#claim.id === claim.id) this.#send()
      },
      (error: unknown) => this.#client.report(claim, 'watch', error),
    )
  }

  #busy(holderRemainingMs: number | undefined): void {
    if (!this.#terms.enqueue) {
      this.#end()
      this.#listener.done(undefined)
      return
    }
    // The store keeps no queue: come back now and then, more slowly as time goes on.
    const [shortestMs, longestMs] = this.#client.store.traits.pollRangeMs
    const pollMs = Math.min(longestMs, shortestMs * 1.5 ** this.#polls)
    this.#polls += 1
    this.#attemptAfter(
      Math.min(this.#client.jitter(shortestMs, pollMs), holderRemainingMs ?? Infinity),
    )
  }

  /**
   * Sent also when an older attempt is unanswered: that one may be lost. In an outage the retries
   * take its place.
   */
  #sendHeartbeat(): void {
    if (!this.#outage || !this.#client.retries.has(this)) this.#send()
  }

  #attemptAfter(delayMs: number | undefined): void {
    this.#retry?.cancel()
    this.#retry = undefined
    if (delayMs === undefined) return
    this.#retry = this.#client.clock.timer(delayMs + 1, () => this.#send())
  }

  /** An answer takes long, and may come yet. */
  #late(sent: Sent): void {
    if (!this.#terms.enqueue || !this.#isStillWanted(sent)) return
    // Some client libraries keep a request to themselves until they try the server again.
    const error =
      this.#outage?.error ?? this.#client.noAnswer(this.lock, 'the attempt', NOTED_AFTER_MS)
    this.#outage ??= new Outage(this.#client, error, sent.sentMs)
    this.#outage.note(sent.claim, error)
  }

  /**
   * Whether it matters what becomes of a request: the claim is still wanted, and no later request
   * was answered.
   */
  #isStillWanted({ claim, sentMs }: Sent): boolean {
    return !this.#over && claim.id === this.#claim.id && sentMs >= this.#answeredMs
  }

  /**
   * A claim for which somebody waits outlives an outage: it is attempted again, with the same id,
   * since nobody knows what became of the attempt. Wrong credentials stay wrong, and an attempt
   * that does not queue fails at once.
   */
  #fail(sent: Sent, caught: unknown): void {
    if (!this.#isStillWanted(sent)) return
    const error = this.#client.asLockError(caught, sent.claim.lock, 'the attempt')
    if (this.#terms.enqueue && isRetryable(error)) {
      const outage = (this.#outage ??= new Outage(this.#client, error, sent.sentMs))
      this.#client.retries.add(this, error)
      outage.note(sent.claim, error)
      this.#listener.failing?.(outage)
      return
    }
    this.#end()
    this.#client.withdrawals.inBackground(this.#claim)
    this.#listener.done(undefined, error)
  }

  /** Begins again with a fresh claim, at the end of the queue. */
  #restart(): void {
    this.#forget()
    this.#claim = this.#client.newClaim(this.#template)
    this.#doubtedMs = -Infinity
    this.#silentMs = 0
    this.#queueNumber = undefined
    this.#toppingUp = false
    this.#send()
  }

  #end(): void {
    this.#over = true
    if (this.#outage) this.#client.retries.delete(this)
    this.#forget()
  }

  #forget(): void {
    this.#watch?.close()
    this.#leaveHeartbeats?.()
    this.#retry?.cancel()
    this.#first = this.#waiting = this.#watch = this.#leaveHeartbeats = this.#retry = undefined
  }
}
