/**
 * Renews the leases of a main thread whose event loop is blocked. Runs in the helper's thread.
 *
 * The main thread gives a beat with each turn of its event loop. While the beat is younger than a
 * third of a TTL, the main thread renews that lease itself. A renewal leaves only for a lease that
 * is held by its deadline, and never later than `blockedAtMostMs` after the beat.
 */
import type { Clock, Timer } from '../../../clock/clock.js'
import type { Renewal, RenewResult, Store } from '../../../store/contract.js'
import { deadlineFrom } from '../../grant/deadline.js'
import type { SharedLease, StolenLease } from './messages.js'
import { pauseFor } from './pace.js'
import { LeaseSlot, type SharedBoard } from './shared-leases.js'

/** A renewal without an answer is sent again after this share of the TTL. */
const RETRY_SHARE = 1 / 6
/** A renewal that failed is sent again after this share of the TTL. */
const FAILED_SHARE = 1 / 15
const MOST_PER_REQUEST = 256

interface Entry {
  readonly slot: LeaseSlot
  renewal: Renewal
  worthMs: number
  /** No renewal leaves before. */
  notBeforeMs: number
  /** The main thread has taken the lease back, and may use the slot for another. */
  isOver: boolean
}

export interface LateRenewalSettings {
  readonly store: Store
  readonly board: SharedBoard
  readonly blockedAtMostMs: number
  /** Its monotonic time counts from `process.hrtime`. */
  readonly clock: Clock
  readonly onStolen: (lease: StolenLease) => void
}

export class LateRenewals {
  readonly #settings: LateRenewalSettings
  readonly #pages: SharedArrayBuffer[] = []
  readonly #entries = new Map<string, Entry>()
  #shortestMs = Infinity
  #endings = 0
  #timer: Timer | undefined
  #wakeMs = Infinity

  constructor(settings: LateRenewalSettings) {
    this.#settings = settings
  }

  /** Renews a lease from now on when that is needed, or takes over changes of its renewal. */
  share(lease: SharedLease): void {
    const { page, memory, renewal, worthMs } = lease
    if (memory) this.#pages[page] = memory
    const known = this.#entries.get(renewal.id)
    if (lease.isNew) this.#begin(lease, known)
    // Without an entry the lease has ended, and its slot may serve another one.
    else if (known) Object.assign(known, { renewal, worthMs })
    if (this.#entries.size === 0) return
    this.#shortestMs = Math.min(this.#shortestMs, worthMs)
    this.#lookWithin(pauseFor(this.#shortestMs))
  }

  /** Only the entry of a lease frees its slot, so the slot serves no other lease before. */
  #begin({ page, index, renewal, worthMs }: SharedLease, known: Entry | undefined): void {
    if (known) this.#forget(known)
    const slot = new LeaseSlot(this.#pages[page] as SharedArrayBuffer, index)
    const entry = { slot, renewal, worthMs, notBeforeMs: -Infinity, isOver: false }
    this.#entries.set(renewal.id, entry)
    // The ending may have been counted before.
    if (slot.state === 'ended') this.#drop(entry)
  }

  #lookWithin(pauseMs: number): void {
    const { clock } = this.#settings
    const wakeMs = clock.monotonicMs() + pauseMs
    if (wakeMs >= this.#wakeMs) return
    this.#timer?.cancel()
    this.#wakeMs = wakeMs
    this.#timer = clock.timer(pauseMs, () => this.#look(), true)
  }

  #look(): void {
    this.#timer = undefined
    this.#wakeMs = Infinity
    this.#forgetEnded()
    if (this.#entries.size === 0) return
    const nowMs = this.#settings.clock.monotonicMs()
    const beatMs = this.#settings.board.beatMs
    const isSilent = nowMs - beatMs > this.#shortestMs / 3
    if (isSilent && nowMs < beatMs + this.#settings.blockedAtMostMs) this.#renewDue(nowMs, beatMs)
    this.#lookWithin(pauseFor(this.#shortestMs))
  }

  /** Frees the slots of leases that the main thread has taken back. */
  #forgetEnded(): void {
    const { endings } = this.#settings.board
    if (endings === this.#endings) return
    this.#endings = endings
    this.#shortestMs = Infinity
    for (const entry of this.#entries.values()) {
      if (entry.slot.state === 'ended') this.#drop(entry)
      else this.#shortestMs = Math.min(this.#shortestMs, entry.worthMs)
    }
  }

  #drop(entry: Entry): void {
    this.#forget(entry)
    this.#entries.delete(entry.renewal.id)
  }

  #forget(entry: Entry): void {
    if (entry.isOver) return
    entry.isOver = true
    entry.slot.free()
  }

  #renewDue(nowMs: number, beatMs: number): void {
    const capMs = beatMs + this.#settings.blockedAtMostMs
    const due = [...this.#entries.values()].filter((entry) => isDue(entry, nowMs, beatMs, capMs))
    for (let first = 0; first < due.length; first += MOST_PER_REQUEST)
      void this.#send(due.slice(first, first + MOST_PER_REQUEST), beatMs)
  }

  /** Never rejects: a failure is an unknown outcome, and the old deadline stands. */
  async #send(due: readonly Entry[], beatMs: number): Promise<void> {
    const { store, clock } = this.#settings
    const sentMs = clock.monotonicMs()
    const offsetMs = clock.wallMs() - sentMs
    const capMs = beatMs + this.#settings.blockedAtMostMs
    const entries = due.filter((entry) => this.#claim(entry, sentMs))
    if (entries.length === 0) return
    const open: (Entry | undefined)[] = entries.slice()
    const take = (index: number, result: RenewResult): void => {
      const entry = open[index]
      open[index] = undefined
      if (entry && !entry.isOver) this.#take(entry, result, { sentMs, offsetMs, capMs })
    }
    try {
      const renewals = entries.map(({ renewal }) => renewal)
      const results = await store.renew(renewals, take)
      for (const [index, result] of results.entries()) take(index, result)
    } catch {
      // The renewals leave again soon, as for the result `unknown`.
      for (const entry of open) if (entry) retrySoon(entry, clock.monotonicMs())
    }
  }

  /** The main thread may take the lease at any time: its state is read after the count. */
  #claim({ slot }: Entry, sentMs: number): boolean {
    slot.countSent()
    if (slot.state === 'held' && sentMs < slot.deadlineMs) return true
    slot.countAnswered()
    return false
  }

  #take(
    entry: Entry,
    result: RenewResult,
    sent: { readonly sentMs: number; readonly offsetMs: number; readonly capMs: number },
  ): void {
    const { slot, worthMs, renewal } = entry
    const { board, clock, onStolen } = this.#settings
    const nowMs = clock.monotonicMs()
    if (result.outcome === 'unknown') {
      retrySoon(entry, nowMs)
      return
    }
    slot.countAnswered()
    if (result.outcome === 'lost') {
      if (result.reason === 'stolen')
        onStolen({ claimId: renewal.id, stealReason: result.stealReason })
      slot.lose(result.reason)
    } else if (sent.sentMs > slot.renewal.sentMs) {
      const { sentMs, offsetMs, capMs } = sent
      slot.raiseDeadline(Math.min(deadlineFrom(sentMs, worthMs), capMs))
      slot.noteRenewal({ sentMs, offsetMs, answeredMs: nowMs })
    }
    board.countAnswer()
  }
}

function retrySoon(entry: Entry, nowMs: number): void {
  entry.notBeforeMs = nowMs + FAILED_SHARE * entry.worthMs
}

/** Whether a lease needs a renewal now. Notes when the next one may leave. */
function isDue(entry: Entry, nowMs: number, beatMs: number, capMs: number): boolean {
  const { slot, worthMs, notBeforeMs } = entry
  if (nowMs - beatMs <= worthMs / 3 || nowMs < notBeforeMs || slot.state !== 'held') return false
  const { deadlineMs, endsMs } = slot
  // A lease that lasts until it must end needs none.
  if (nowMs >= deadlineMs || deadlineMs >= Math.min(capMs, endsMs)) return false
  if (deadlineMs - nowMs > (2 / 3) * worthMs) return false
  entry.notBeforeMs = nowMs + RETRY_SHARE * worthMs
  return true
}
