/**
 * Renews the grants of a client with one timer for all of them. Notices that a lease is at risk
 * (`risk.ts`), and that one is lost (`end-lost-grant.ts`): by its deadline, or by the store's
 * answer.
 *
 * Grants with the same TTL share a lane. A grant whose renewal is in flight or in doubt stays in
 * `#unanswered` until an answer comes. An unknown outcome keeps the old deadline, and the scheduler
 * repeats the renewal soon.
 */
import type { Timer } from '../../clock/clock.js'
import type { LockError, LossReason } from '../../errors.js'
import type { Renewal, RenewResult } from '../../store/contract.js'
import { isPromise, type MaybePromise } from '../../store/maybe-promise.js'
import { LinkedSet } from '../../collections/linked-set.js'
import { outsideContext } from '../../async/async-context.js'
import { pendingCall } from '../../async/keep-alive.js'
import { marginMs } from '../../clock/margin.js'
import { ANNOUNCE_EARLY_MS } from '../grant/deadline.js'
import type { Grant } from '../grant/grant.js'
import { RenewalLane } from '../grant/renewal-lane.js'
import type { Runtime } from '../runtime/runtime.js'
import type { Withdrawals } from '../release/release-until-answered.js'
import { endLost } from './end-lost-grant.js'
import type { RenewalHelper } from './helper/renewal-helper.js'
import type { LateRenewal } from './helper/shared-leases.js'
import { renewalTraces } from './renewal-traces.js'
import { nextLookMs, noteRisk, noteSafe, retryMs, riskMs } from './risk.js'

/** An unanswered renewal is sent again after a sixth of the TTL, and after this time at most. */
const LONGEST_RETRY_MS = 5000
/** A renewal for a doubt leaves this long after the one before at the earliest. */
const DOUBT_PAUSE = { share: 1 / 60, mostMs: 500 }
/** While a grant is held, the clocks are compared at least this often. */
const LONGEST_SLEEP_MS = 1000
/** Grants due within this share of their lead are renewed together with one that is due now. */
const GROUPING = 0.1
/**
 * How many grants of one lane are renewed in one tick. More at once would delay other work of the
 * process and of the store. The objects of each would also live long enough to burden the garbage
 * collector.
 */
const MOST_PER_REQUEST = 256

/** When and why a renewal was sent. */
interface SentRenewal {
  readonly sentMs: number
  readonly offsetMs: number
  /** The holder called `renew` itself. */
  readonly byHand: boolean
  /** Which share of the TTL passes until the retry: the same for all, so that they go together. */
  retryAfter: number | undefined
}

/** The answer of the store to a request for renewals. */
type Renewing = MaybePromise<readonly RenewResult[]>

export class RenewalScheduler {
  /** Renews beside a blocked event loop, for a client with `renewFrom: 'worker'`. */
  helper: RenewalHelper | undefined
  readonly #runtime: Runtime
  readonly #withdrawals: Withdrawals
  readonly #lanes = new Map<number, RenewalLane<Grant>>()
  readonly #unanswered = new LinkedSet<Grant>()
  #timer: Timer | undefined
  #wakeMs = Infinity
  #offsetMs: number

  constructor(runtime: Runtime, withdrawals: Withdrawals) {
    this.#runtime = runtime
    this.#withdrawals = withdrawals
    this.#offsetMs = runtime.clockOffsetMs()
  }

  add(grant: Grant): void {
    const leadMs =
      grant.renewing === 'regular' || !grant.isAged
        ? grant.ttlMs / 3
        : grant.ttlMs - marginMs(grant.ttlMs) - ANNOUNCE_EARLY_MS
    let lane = this.#lanes.get(leadMs)
    if (!lane) this.#lanes.set(leadMs, (lane = new RenewalLane(leadMs)))
    lane.insert(grant)
    // The deadline of a grant that came late may be nearer than its place in the lane says.
    const dueMs = Math.min(grant.baseMs + leadMs, grant.deadlineMs - ANNOUNCE_EARLY_MS)
    // Usually the timer is set for an earlier moment.
    if (dueMs < this.#wakeMs) this.#wakeBy(dueMs)
    this.helper?.share(grant)
    if (grant.renewing === 'once') this.renewSoon(grant)
  }

  /** Renews a grant no more. Returns how many renewals of the helper may still arrive. */
  remove(grant: Grant): number {
    this.#unlist(grant)
    return this.helper?.take(grant) ?? 0
  }

  #unlist(grant: Grant): void {
    if (grant.unanswered) this.#unanswered.delete(grant.unanswered)
    grant.unanswered = undefined
    grant.lane?.remove(grant)
  }

  /**
   * Takes a grant from the helper until its next renewal: its terms change. What the helper has
   * sent may still arrive.
   */
  takeFromHelper(grant: Grant): void {
    if (this.helper) grant.openRenewals += this.helper.take(grant)
  }

  /** Counts what the helper has renewed and lost. Callers that judge a deadline come here first. */
  catchUp(): void {
    this.helper?.catchUp()
  }

  /** Counts a renewal of the helper: see `HelpedLeases`. */
  renewedLate(grant: Grant, renewal: LateRenewal, untilMs: number): boolean {
    grant.openRenewals += 1
    grant.extend(renewal.sentMs, renewal.offsetMs, true)
    const isCut = grant.deadlineMs - untilMs > ANNOUNCE_EARLY_MS
    grant.deadlineMs = Math.min(grant.deadlineMs, untilMs)
    this.#noteRenewed(grant, renewal.sentMs, renewal.answeredMs)
    return isCut
  }

  /** Ends a grant against its holder's will: see `endLost`. */
  lose(grant: Grant, reason: LossReason, stealReason?: string): void {
    if (!grant.isOpen) return
    this.remove(grant)
    endLost(this.#runtime, this.#withdrawals, grant, reason, stealReason)
  }

  /** Lets a grant run out: from now on only its deadline is watched. */
  stopRenewing(grant: Grant): void {
    this.remove(grant)
    grant.renewing = 'none'
    if (grant.isOpen) this.add(grant)
  }

  /**
   * Renews one grant now, outside of its rhythm. Resolves to the store's answer to this very
   * request.
   */
  async renewNow(grant: Grant): Promise<RenewResult> {
    const [result] = await pendingCall(this.#send([grant], true))
    return result ?? { outcome: 'lost', reason: 'expired' }
  }

  /** Renews in the background since the clocks have parted, and asks no more often than needed. */
  settleDoubt(grant: Grant): void {
    if (this.#mayAskAgain(grant, this.#runtime.clock.monotonicMs())) this.renewSoon(grant)
  }

  #mayAskAgain({ sentMs, ttlMs }: Grant, nowMs: number): boolean {
    return (
      sentMs === undefined ||
      nowMs - sentMs >= Math.min(DOUBT_PAUSE.mostMs, DOUBT_PAUSE.share * ttlMs)
    )
  }

  /** Renews in the background, once. */
  renewSoon(grant: Grant): void {
    if (grant.unanswered) return
    void this.#send([grant])
  }

  #wakeBy(timeMs: number): void {
    const nowMs = this.#runtime.clock.monotonicMs()
    const wakeMs = Math.min(timeMs, nowMs + LONGEST_SLEEP_MS)
    if (wakeMs >= this.#wakeMs) return
    this.#timer?.cancel()
    this.#wakeMs = wakeMs
    const { clock } = this.#runtime
    this.#timer = outsideContext(() =>
      clock.timer(Math.max(0, wakeMs - nowMs), () => this.#tick(), true),
    )
  }

  #tick(): void {
    this.#wakeMs = Infinity
    this.#timer = undefined
    this.catchUp()
    const nowMs = this.#runtime.clock.monotonicMs()
    const due = [...this.#takeDue(nowMs), ...this.#takeInDoubt(nowMs)]
    const open = due.filter((grant) => !this.#needsNone(grant, nowMs))
    if (open.length > 0) void this.#send(open)
    this.#rearm()
  }

  /**
   * Takes what is due out of the lanes, with its neighbours, and everything when the clocks have
   * parted.
   */
  #takeDue(nowMs: number): Grant[] {
    const due: Grant[] = []
    const offsetMs = this.#runtime.clockOffsetMs(nowMs)
    const suspicious = this.#clocksMoved(offsetMs)
    for (const lane of [...this.#lanes.values()]) {
      const untilMs = nowMs + (lane.first?.renewing === 'regular' ? lane.leadMs * GROUPING : 0)
      if (!suspicious && lane.first && lane.first.baseMs + lane.leadMs > nowMs) continue
      const most = due.length + MOST_PER_REQUEST
      for (let grant = lane.first; grant;) {
        const { next } = grant
        const isDue = grant.baseMs + lane.leadMs <= untilMs
        if (!suspicious && (!isDue || due.length === most)) break
        const isInDoubt = grant.clocksDisagree(nowMs, offsetMs) || grant.isInDoubtSoon(offsetMs)
        if (isDue || (isInDoubt && this.#mayAskAgain(grant, nowMs))) {
          this.#unlist(grant)
          due.push(grant)
        }
        grant = next
      }
    }
    return due
  }

  #takeInDoubt(nowMs: number): Grant[] {
    const due: Grant[] = []
    for (let place = this.#unanswered.first; place; place = place.next) {
      const grant = place.value
      if (riskMs(grant) <= nowMs) noteRisk(this.#runtime, grant, nowMs)
      if (retryMs(grant) <= nowMs || grant.deadlineMs - ANNOUNCE_EARLY_MS <= nowMs) due.push(grant)
    }
    return due
  }

  /**
   * Whether a due grant needs no renewal: it is over, or it is fixed and its clocks agree.
   */
  #needsNone(grant: Grant, nowMs: number): boolean {
    if (grant.deadlineMs - ANNOUNCE_EARLY_MS <= nowMs) {
      this.lose(grant, 'deadline')
      return true
    }
    const isInDoubt = grant.clocksDisagree(nowMs, this.#runtime.clockOffsetMs(nowMs))
    if (grant.renewing !== 'none' || isInDoubt) return false
    grant.isAged = true
    grant.holder?.onAge()
    this.#unlist(grant)
    this.add(grant)
    return true
  }

  #clocksMoved(offsetMs: number): boolean {
    const moved = Math.abs(offsetMs - this.#offsetMs) > ANNOUNCE_EARLY_MS
    this.#offsetMs = offsetMs
    return moved
  }

  #rearm(): void {
    let wakeMs = Infinity
    for (const lane of this.#lanes.values()) {
      if (lane.first) wakeMs = Math.min(wakeMs, lane.first.baseMs + lane.leadMs)
      else this.#lanes.delete(lane.leadMs)
    }
    for (let place = this.#unanswered.first; place; place = place.next)
      wakeMs = Math.min(wakeMs, nextLookMs(place.value))
    if (wakeMs < Infinity) this.#wakeBy(wakeMs)
  }

  /**
   * Sends one request for all of them, and takes each result as soon as the store reports it. Never
   * rejects: a failure is an unknown outcome.
   */
  async #send(grants: readonly Grant[], byHand = false): Promise<readonly RenewResult[]> {
    const { store, clock } = this.#runtime
    const sentMs = clock.monotonicMs()
    const offsetMs = this.#runtime.clockOffsetMs(sentMs)
    let wakeMs = Infinity
    for (const grant of grants) {
      this.#noteSent(grant, sentMs)
      if (grant.unanswered) wakeMs = Math.min(wakeMs, nextLookMs(grant))
    }
    if (wakeMs < Infinity) this.#wakeBy(wakeMs)
    const sent: SentRenewal = { sentMs, offsetMs, byHand, retryAfter: undefined }
    const traces = renewalTraces(this.#runtime, grants)
    const open: (Grant | undefined)[] = grants.slice()
    const take = (index: number, result: RenewResult): void => {
      const grant = open[index]
      open[index] = undefined
      traces?.settle(index, result)
      if (grant?.isOpen === true) this.#takeResult(grant, result, sent)
    }
    const renew = (): Renewing => store.renew(grants.map(renewalOf), take)
    const results = await this.#answers(grants, traces ? () => traces.enter(renew) : renew)
    // Those that the store has not reported by themselves.
    for (let index = 0; index < results.length; index += 1)
      take(index, results[index] as RenewResult)
    return results
  }

  async #answers(grants: readonly Grant[], call: () => Renewing): Promise<readonly RenewResult[]> {
    const lock = grants[0]?.claim.lock ?? ''
    let cause: LockError
    try {
      const answer = call()
      // However late, "renewed" is good. The renewal is sent again meanwhile.
      return isPromise(answer) ? await answer : answer
    } catch (error) {
      cause = this.#runtime.asLockError(error, lock, 'the renewal')
    }
    return grants.map(() => ({ outcome: 'unknown', cause }))
  }

  #noteSent(grant: Grant, sentMs: number): void {
    this.#unlist(grant)
    if (!grant.isOpen) return
    grant.openRenewals += 1
    grant.sentMs = sentMs
    grant.holder?.onAge()
    const retryAfterMs = Math.min(LONGEST_RETRY_MS, Math.max(grant.ttlMs / 6, 25))
    grant.retryAtMs = sentMs + retryAfterMs
    grant.unanswered = this.#unanswered.add(grant)
  }

  #takeResult(grant: Grant, result: RenewResult, sent: SentRenewal): void {
    if (result.outcome === 'lost') {
      this.lose(grant, result.reason, result.reason === 'stolen' ? result.stealReason : undefined)
      return
    }
    const nowMs = this.#runtime.clock.monotonicMs()
    if (result.outcome === 'renewed') {
      // A fixed lease keeps its end when only the clocks were in doubt.
      grant.extend(sent.sentMs, sent.offsetMs, grant.renewing !== 'none' || sent.byHand)
      this.#noteRenewed(grant, sent.sentMs, nowMs)
      return
    }
    this.#runtime.announce('renewal-unknown', grant.claim, { error: result.cause })
    sent.retryAfter ??= this.#runtime.jitter(1 / 20, 1 / 10)
    grant.retryAtMs = nowMs + Math.min(1000, Math.max(10, sent.retryAfter * grant.ttlMs))
    grant.unanswered ??= this.#unanswered.add(grant)
    this.#wakeBy(retryMs(grant))
  }

  #noteRenewed(grant: Grant, sentMs: number, nowMs: number): void {
    this.#unlist(grant)
    this.add(grant)
    if (grant.isAtRisk) noteSafe(this.#runtime, grant, nowMs)
    this.#runtime.announce('renewed', grant.claim, { durationMs: nowMs - sentMs })
  }
}

function renewalOf(grant: Grant): Renewal {
  return grant.renewal()
}
