/**
 * The main thread's side of the helper that renews while the event loop is blocked.
 *
 * Each renewed lease is shared with the helper from its grant to its end. This thread counts the
 * renewals of the helper before it judges a deadline: when user code asks, and in each turn.
 */
import type { LossReason } from '../../../errors.js'
import type { Timer } from '../../../clock/clock.js'
import { outsideContext } from '../../../async/async-context.js'
import type { Renewal } from '../../../store/contract.js'
import type { Grant } from '../../grant/grant.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { SharedLease, StolenLease } from './messages.js'
import { pauseFor } from './pace.js'
import { LeaseSlot, type LateRenewal, type SharedBoard } from './shared-leases.js'

/** The thread in which the helper works. */
export interface HelperThread {
  share(lease: SharedLease): void
  /** Returns the stolen leases that the helper has met since the last call, at once. */
  stolen(): StolenLease[]
  close(): Promise<void>
}

/** Takes what the helper has learned. */
export interface HelpedLeases {
  /**
   * @param untilMs the lease counts as held no longer than this
   * @returns whether that is less than the renewal is worth: the helper has reached its limit
   */
  renewedLate(grant: Grant, renewal: LateRenewal, untilMs: number): boolean
  renewSoon(grant: Grant): void
  lose(grant: Grant, reason: LossReason, stealReason?: string): void
}

interface Place {
  readonly page: number
  readonly index: number
  readonly slot: LeaseSlot
}

interface Shared {
  readonly place: Place
  renewal: Renewal
  worthMs: number
  /** When the renewal left that was counted last, on the helper's clock. */
  sentMs: number
  /** It lasts to the limit of the helper only. This thread can renew it beyond that. */
  isCut: boolean
}

export class RenewalHelper {
  readonly #runtime: Runtime
  readonly #board: SharedBoard
  readonly #thread: HelperThread
  readonly #leases: HelpedLeases
  /** What the clock of both threads is ahead of the clock of the runtime. */
  readonly #aheadMs: number
  readonly #shared = new Map<Grant, Shared>()
  readonly #pages: SharedArrayBuffer[] = []
  readonly #free: Place[] = []
  /** Slots that the helper has still to free, in the order of their ends. */
  readonly #ended: Place[] = []
  /** The pages that the helper has. */
  readonly #known = new Set<number>()
  /** Leases that the helper found stolen, by the ids of their claims. */
  readonly #stolen = new Map<string, StolenLease>()
  #answers = 0
  #shortestMs = Infinity
  #timer: Timer | undefined
  #isLost = false

  constructor(
    runtime: Runtime,
    leases: HelpedLeases,
    shared: {
      readonly board: SharedBoard
      readonly thread: HelperThread
      readonly aheadMs: number
    },
  ) {
    this.#runtime = runtime
    this.#leases = leases
    this.#board = shared.board
    this.#thread = shared.thread
    this.#aheadMs = shared.aheadMs
  }

  /** How many pieces of memory it has. */
  get pages(): number {
    return this.#pages.length
  }

  /** Lets the helper renew a grant from now on, with its deadline and renewal of now. */
  share(grant: Grant): void {
    if (grant.renewing !== 'regular' || grant.state !== 'held' || this.#isLost) return
    const known = this.#shared.get(grant)
    const worthMs = grant.ownTtl?.trustedMs ?? grant.claim.ttlMs
    if (!known) {
      this.#begin(grant, worthMs)
      return
    }
    known.place.slot.raiseDeadline(grant.deadlineMs + this.#aheadMs)
    if (known.renewal === grant.claim && known.worthMs === worthMs) return
    Object.assign(known, { renewal: grant.claim, worthMs })
    this.#post(grant, known, false)
  }

  #begin(grant: Grant, worthMs: number): void {
    const place = this.#freePlace()
    const endsMs = (grant.holder?.endsMs ?? Infinity) + this.#aheadMs
    place.slot.begin(grant.deadlineMs + this.#aheadMs, endsMs)
    const shared = { place, renewal: grant.claim, worthMs, sentMs: 0, isCut: false }
    if (this.#shared.size === 0) this.#board.beatMs = this.#nowMs()
    this.#shared.set(grant, shared)
    this.#post(grant, shared, true)
    if (worthMs < this.#shortestMs) {
      this.#shortestMs = worthMs
      this.#timer?.cancel()
      this.#timer = undefined
    }
    if (!this.#timer) this.#beatLater()
  }

  #post(grant: Grant, { place, worthMs }: Shared, isNew: boolean): void {
    const { id, lock, ttlMs, owner } = grant.renewal()
    const { page, index } = place
    const lease = { page, index, isNew, renewal: { id, lock, ttlMs, owner }, worthMs }
    const memory = this.#pages[page]
    this.#thread.share(memory && !this.#known.has(page) ? { ...lease, memory } : lease)
    this.#known.add(page)
  }

  #freePlace(): Place {
    while (this.#ended[0]?.slot.state === 'free') this.#free.push(this.#ended.shift() as Place)
    const found = this.#free.pop()
    if (found) return found
    const memory = LeaseSlot.newPage()
    const page = this.#pages.push(memory) - 1
    const places = LeaseSlot.slotsOf(memory).map((slot, index) => ({ page, index, slot }))
    this.#free.push(...places.toReversed())
    return this.#free.pop() as Place
  }

  /** The lease of a new holder ends then at the latest. */
  limit(grant: Grant, endsMs: number): void {
    const shared = this.#shared.get(grant)
    if (shared) shared.place.slot.endsMs = endsMs + this.#aheadMs
  }

  /**
   * Takes a grant from the helper. Returns how many renewals of the helper may still reach the
   * store.
   */
  take(grant: Grant): number {
    const shared = this.#shared.get(grant)
    if (!shared) return 0
    this.#shared.delete(grant)
    this.#stolen.delete(grant.claim.id)
    const { slot } = shared.place
    slot.end()
    this.#board.countEnding()
    this.#ended.push(shared.place)
    if (this.#shared.size === 0) {
      this.#timer?.cancel()
      this.#timer = undefined
      this.#shortestMs = Infinity
    }
    return slot.inFlight
  }

  /** Counts what the helper has learned since the last call. Costs one look without news. */
  catchUp(): void {
    const { answers } = this.#board
    if (answers === this.#answers) return
    this.#answers = answers
    for (const lease of this.#thread.stolen()) this.#stolen.set(lease.claimId, lease)
    for (const [grant, shared] of this.#shared) this.#count(grant, shared)
  }

  #count(grant: Grant, shared: Shared): void {
    const { slot } = shared.place
    const { state, renewal } = slot
    if (state === 'expired' || state === 'stolen') {
      this.#leases.lose(grant, state, this.#stolen.get(grant.claim.id)?.stealReason)
      return
    }
    if (renewal.sentMs <= shared.sentMs) return
    shared.sentMs = renewal.sentMs
    const late = {
      sentMs: renewal.sentMs - this.#aheadMs,
      answeredMs: renewal.answeredMs - this.#aheadMs,
      offsetMs: renewal.offsetMs + this.#aheadMs,
    }
    shared.isCut = this.#leases.renewedLate(grant, late, slot.deadlineMs - this.#aheadMs)
  }

  /** Gives a beat in each turn of the event loop, as far as the shortest TTL needs one. */
  #beatLater(): void {
    const pauseMs = pauseFor(this.#shortestMs)
    const { clock } = this.#runtime
    this.#timer = outsideContext(() => clock.timer(pauseMs, () => this.#beat(), true))
  }

  /** What the helper did since the last beat counts by that one, so it is read before. */
  #beat(): void {
    this.#timer = undefined
    this.catchUp()
    this.#board.beatMs = this.#nowMs()
    for (const [grant, shared] of this.#shared) {
      const isOver = this.#board.beatMs >= shared.place.slot.deadlineMs
      if (shared.isCut && !isOver) this.#leases.renewSoon(grant)
      shared.isCut = false
    }
    if (this.#shared.size > 0) this.#beatLater()
  }

  #nowMs(): number {
    return this.#runtime.clock.monotonicMs() + this.#aheadMs
  }

  /** The helper has ended. The leases continue, and only this thread renews them. */
  lost(error: unknown): void {
    if (this.#isLost) return
    this.catchUp()
    this.#isLost = true
    for (const grant of [...this.#shared.keys()]) this.take(grant)
    this.#runtime.announceOfClient('helper-lost', { error })
  }

  /** Ends the helper. */
  async close(): Promise<void> {
    this.#isLost = true
    this.#timer?.cancel()
    await this.#thread.close()
  }
}
