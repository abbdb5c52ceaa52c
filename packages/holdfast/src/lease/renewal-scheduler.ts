/**
 * Renews the grants of a client, with one timer for all of them.
 *
 * Grants with the same TTL share a lane. A lane is sorted by the start of the TTL, so the next due
 * grant is always at its head, and a grant joins or leaves in constant time. A grant whose renewal
 * is in flight or in doubt stays in `#unanswered` until an answer comes. An unknown outcome keeps
 * the old deadline, and the scheduler repeats the renewal soon.
 */
import type { Timer } from '../clock/clock.js'
import type { LockError } from '../errors.js'
import type { Renewal, RenewResult } from '../store/contract.js'
import { isPromise } from '../store/maybe-promise.js'
import { LinkedSet } from '../collections/linked-set.js'
import type { Client } from './client.js'
import { outsideContext } from './context.js'
import { marginMs } from './deadline.js'
import { isWatched, publish } from './events.js'
import type { Grant } from './grant.js'

/** How long before the deadline a loss is announced: timers fire late and never early. */
const ANNOUNCE_EARLY_MS = 2
/** While anything is held the clocks are compared at least this often. */
const LONGEST_SLEEP_MS = 1000
/** Grants due within this share of their rhythm are renewed together with one that is due now. */
const GROUPING = 0.1
/**
 * So many of one rhythm go in one turn of the event loop, and the next ones in the next. All at
 * once would hold up whatever else the process and the store do, and what is made for each would
 * live long enough to cost the collector of garbage most.
 */
const MOST_PER_REQUEST = 256

/** Grants that are due `leadMs` after their base, in the order of their bases. */
export interface Lane {
  readonly leadMs: number
  first: Grant | undefined
  last: Grant | undefined
}

/** When and why a renewal was sent. */
interface SentRenewal {
  readonly sentMs: number
  readonly offsetMs: number
  /** The holder called `renew` itself. */
  readonly byHand: boolean
}

export class RenewalScheduler {
  readonly #client: Client
  readonly #lanes = new Map<number, Lane>()
  readonly #unanswered = new LinkedSet<Grant>()
  #timer: Timer | undefined
  #wakeMs = Infinity
  #offsetMs: number

  constructor(client: Client) {
    this.#client = client
    this.#offsetMs = client.clockOffsetMs()
  }

  add(grant: Grant): void {
    const leadMs = grant.renews
      ? grant.ttlMs / 3
      : grant.ttlMs - marginMs(grant.ttlMs) - ANNOUNCE_EARLY_MS
    let lane = this.#lanes.get(leadMs)
    if (!lane) this.#lanes.set(leadMs, (lane = { leadMs, first: undefined, last: undefined }))
    insert(lane, grant)
    // The deadline of a grant that came late may be nearer than its place in the lane says.
    this.#wakeBy(Math.min(grant.baseMs + leadMs, grant.deadlineMs - ANNOUNCE_EARLY_MS))
    // A fixed lease lasts for the TTL of its claim: it gets there by one renewal.
    if (grant.provisional && !grant.renews) this.renewSoon(grant)
  }

  remove(grant: Grant): void {
    if (grant.unanswered) this.#unanswered.delete(grant.unanswered)
    grant.unanswered = undefined
    if (!grant.lane) return
    const { lane } = grant
    unlink(lane, grant)
  }

  /** Lets a grant run out: from now on only its deadline is watched. */
  stopRenewing(grant: Grant): void {
    this.remove(grant)
    grant.renews = grant.provisional = false
    if (grant.state === 'held') this.add(grant)
  }

  /**
   * Renews one grant now, whatever its rhythm, and says what the store answered to this very
   * request.
   */
  async renewNow(grant: Grant): Promise<RenewResult> {
    const [result] = await this.#send([grant], true)
    return result ?? { outcome: 'lost', reason: 'expired' }
  }

  /** Renews in the background, once. */
  renewSoon(grant: Grant): void {
    if (grant.unanswered) return
    void this.#send([grant])
  }

  #wakeBy(timeMs: number): void {
    // The usual case: the timer is set for a moment before this one.
    if (timeMs >= this.#wakeMs) return
    const nowMs = this.#client.clock.monotonicMs()
    const wakeMs = Math.min(timeMs, nowMs + LONGEST_SLEEP_MS)
    if (wakeMs >= this.#wakeMs) return
    this.#timer?.cancel()
    this.#wakeMs = wakeMs
    const { clock } = this.#client
    this.#timer = outsideContext(() =>
      clock.timer(Math.max(0, wakeMs - nowMs), () => this.#tick(), true),
    )
  }

  #tick(): void {
    this.#wakeMs = Infinity
    this.#timer = undefined
    const nowMs = this.#client.clock.monotonicMs()
    const due = [...this.#takeDue(nowMs), ...this.#takeInDoubt(nowMs)]
    const open = due.filter((grant) => !this.#isSettled(grant, nowMs))
    if (open.length > 0) void this.#send(open)
    this.#rearm()
  }

  /**
   * Takes what is due out of the lanes, with its neighbours, and everything when the clocks have
   * parted.
   */
  #takeDue(nowMs: number): Grant[] {
    const due: Grant[] = []
    const suspicious = this.#clocksMoved()
    for (const lane of [...this.#lanes.values()]) {
      const untilMs = nowMs + (lane.first?.renews === true ? lane.leadMs * GROUPING : 0)
      if (!suspicious && lane.first && lane.first.baseMs + lane.leadMs > nowMs) continue
      const most = due.length + MOST_PER_REQUEST
      for (let grant = lane.first; grant;) {
        const { next } = grant
        const isDue = grant.baseMs + lane.leadMs <= untilMs
        if (!suspicious && (!isDue || due.length === most)) break
        if (isDue || grant.clocksDisagree(nowMs)) {
          this.remove(grant)
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
      if (grant.askAgainMs <= nowMs || grant.deadlineMs - ANNOUNCE_EARLY_MS <= nowMs)
        due.push(grant)
    }
    return due
  }

  /**
   * Whether nothing is to be asked for this grant: it is over, or it is a fixed one that nobody
   * doubts.
   */
  #isSettled(grant: Grant, nowMs: number): boolean {
    if (grant.deadlineMs - ANNOUNCE_EARLY_MS <= nowMs) {
      grant.lose('deadline')
      return true
    }
    if (grant.renews || grant.provisional || grant.clocksDisagree(nowMs)) return false
    this.remove(grant)
    this.add(grant)
    return true
  }

  #clocksMoved(): boolean {
    const offsetMs = this.#client.clockOffsetMs()
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
    for (let place = this.#unanswered.first; place; place = place.next) {
      const grant = place.value
      wakeMs = Math.min(wakeMs, grant.askAgainMs, grant.deadlineMs - ANNOUNCE_EARLY_MS)
    }
    if (wakeMs < Infinity) this.#wakeBy(wakeMs)
  }

  /**
   * Sends one request for all of them, and takes each result as soon as the store reports it. Never
   * rejects: a failure is an unknown outcome.
   */
  async #send(grants: readonly Grant[], byHand = false): Promise<readonly RenewResult[]> {
    const { store, clock } = this.#client
    const sentMs = clock.monotonicMs()
    const offsetMs = this.#client.clockOffsetMs(sentMs)
    for (const grant of grants) this.#noteSent(grant, sentMs)
    this.#rearm()
    const sent: SentRenewal = { sentMs, offsetMs, byHand }
    const open: (Grant | undefined)[] = grants.slice()
    const take = (index: number, result: RenewResult): void => {
      const grant = open[index]
      open[index] = undefined
      if (grant?.state === 'held') this.#settle(grant, result, sent)
    }
    const results = await this.#answers(grants, () => store.renew(grants.map(renewalOf), take))
    // Those that the store has not reported by themselves.
    for (let index = 0; index < results.length; index += 1)
      take(index, results[index] as RenewResult)
    this.#rearm()
    return results
  }

  async #answers(
    grants: readonly Grant[],
    call: () => PromiseLike<readonly RenewResult[]> | readonly RenewResult[],
  ): Promise<readonly RenewResult[]> {
    const lock = grants[0]?.claim.lock ?? ''
    let cause: LockError
    try {
      const answer = call()
      // Not bounded by the request timeout: a late "renewed" is still good, and the question is
      // repeated meanwhile.
      return isPromise(answer) ? await answer : answer
    } catch (error) {
      cause = this.#client.asLockError(error, lock, 'the renewal')
    }
    return grants.map(() => ({ outcome: 'unknown', cause }))
  }

  #noteSent(grant: Grant, sentMs: number): void {
    this.remove(grant)
    if (grant.state !== 'held') return
    const retryAfterMs = Math.min(this.#client.requestTimeoutMs, Math.max(grant.ttlMs / 6, 25))
    grant.askAgainMs = sentMs + retryAfterMs
    grant.unanswered = this.#unanswered.add(grant)
  }

  #settle(grant: Grant, result: RenewResult, sent: SentRenewal): void {
    const { clock } = this.#client
    if (result.outcome === 'lost') {
      grant.lose(result.reason, result.reason === 'stolen' ? result.stealReason : undefined)
      return
    }
    if (result.outcome === 'renewed') {
      // A fixed lease keeps its end when only the clocks were in doubt.
      grant.extend(sent.sentMs, sent.offsetMs, grant.renews || grant.provisional || sent.byHand)
      this.remove(grant)
      this.add(grant)
      if (isWatched('renewed')) {
        const durationMs = clock.monotonicMs() - sent.sentMs
        publish('renewed', () => ({ ...this.#client.event(grant.claim), durationMs }))
      }
      return
    }
    publish('renewal-unknown', () => ({ ...this.#client.event(grant.claim), error: result.cause }))
    const retryMs = this.#client.jitter(grant.ttlMs / 20, grant.ttlMs / 10)
    grant.askAgainMs = clock.monotonicMs() + Math.min(1000, Math.max(10, retryMs))
    grant.unanswered ??= this.#unanswered.add(grant)
    this.#wakeBy(grant.askAgainMs)
  }
}

function renewalOf(grant: Grant): Renewal {
  return grant.renewal()
}

/**
 * Keeps the lane sorted. A new grant nearly always goes to the end; one that came late looks for
 * its place.
 */
function insert(lane: Lane, grant: Grant): void {
  let before = lane.last
  while (before && before.baseMs > grant.baseMs) before = before.previous
  const after = before ? before.next : lane.first
  grant.lane = lane
  grant.previous = before
  grant.next = after
  if (before) before.next = grant
  else lane.first = grant
  if (after) after.previous = grant
  else lane.last = grant
}

function unlink(lane: Lane, grant: Grant): void {
  if (grant.previous) grant.previous.next = grant.next
  else lane.first = grant.next
  if (grant.next) grant.next.previous = grant.previous
  else lane.last = grant.previous
  grant.lane = grant.previous = grant.next = undefined
}
