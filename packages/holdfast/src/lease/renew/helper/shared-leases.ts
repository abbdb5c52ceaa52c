/**
 * The memory that the main thread shares with the helper that renews beside it.
 *
 * A lease has a slot: its state and a few times. Times count from `process.hrtime`, the same clock
 * in all threads of a process, in whole microseconds. The main thread begins and ends a lease. The
 * helper only changes a state that is still `held`, by compare-and-set. So a late renewal undoes
 * neither a release nor a loss.
 */
import { invariant } from '../../../invariant.js'

/**
 * - `free`: the helper knows no lease in this slot.
 * - `held`: the helper may renew the lease.
 * - `ended`: the main thread took the lease back: it was released, lost, exported or changed.
 * - `expired`, `stolen`: a renewal of the helper found the lease lost.
 */
export const SLOT_STATES = ['free', 'held', 'ended', 'expired', 'stolen'] as const
export type SlotState = (typeof SLOT_STATES)[number]

/** How many leases share one piece of memory. */
const SLOTS_PER_PAGE = 256
/** The fields of a slot, each of 64 bits. The first one has two numbers of 32 bits. */
const FIELDS = { words: 0, deadline: 1, ends: 2, sent: 3, offset: 4, answered: 5 } as const
const SLOT_FIELDS = 6
const NEVER_MS = 2 ** 52 / 1000

type Time = Exclude<keyof typeof FIELDS, 'words'>

/** An acknowledged renewal of the helper. */
export interface LateRenewal {
  readonly sentMs: number
  /** The distance between the clocks when it was sent. */
  readonly offsetMs: number
  readonly answeredMs: number
}

/** The memory of one lease, as both threads see it. */
export class LeaseSlot {
  readonly #words: Int32Array
  readonly #times: BigInt64Array
  readonly #base: number

  constructor(page: SharedArrayBuffer, index: number) {
    this.#words = new Int32Array(page)
    this.#times = new BigInt64Array(page)
    this.#base = index * SLOT_FIELDS
  }

  static newPage(): SharedArrayBuffer {
    return new SharedArrayBuffer(SLOTS_PER_PAGE * SLOT_FIELDS * BigInt64Array.BYTES_PER_ELEMENT)
  }

  static slotsOf(page: SharedArrayBuffer): LeaseSlot[] {
    return Array.from({ length: SLOTS_PER_PAGE }, (_, index) => new LeaseSlot(page, index))
  }

  get state(): SlotState {
    return SLOT_STATES[Atomics.load(this.#words, this.#base * 2)] as SlotState
  }

  /** How many renewals of the helper may still reach the store. */
  get inFlight(): number {
    return Atomics.load(this.#words, this.#base * 2 + 1)
  }

  /** Until when the lease counts as held. */
  get deadlineMs(): number {
    return this.#time('deadline')
  }

  /** When the lease ends at the latest, renewed or not. */
  get endsMs(): number {
    return this.#time('ends')
  }

  set endsMs(timeMs: number) {
    this.#store('ends', Math.min(timeMs, NEVER_MS))
  }

  /** The last acknowledged renewal. Without one it was sent at time 0. */
  get renewal(): LateRenewal {
    const answeredMs = this.#time('answered')
    return { sentMs: this.#time('sent'), offsetMs: this.#time('offset'), answeredMs }
  }

  /** Begins a lease. */
  begin(deadlineMs: number, endsMs: number): void {
    invariant(this.state === 'free', 'a slot of shared memory serves one lease at a time')
    for (const name of ['sent', 'offset', 'answered'] as const) this.#store(name, 0)
    this.#store('deadline', deadlineMs)
    this.endsMs = endsMs
    Atomics.store(this.#words, this.#base * 2 + 1, 0)
    Atomics.store(this.#words, this.#base * 2, SLOT_STATES.indexOf('held'))
  }

  /** Moves the deadline forward, never back: both threads may do so. */
  raiseDeadline(deadlineMs: number): void {
    const at = this.#base + FIELDS.deadline
    const later = microseconds(deadlineMs)
    let now = Atomics.load(this.#times, at)
    while (now < later) {
      const found = Atomics.compareExchange(this.#times, at, now, later)
      if (found === now) return
      now = found
    }
  }

  /** Takes the lease from the helper in any state. */
  end(): void {
    Atomics.store(this.#words, this.#base * 2, SLOT_STATES.indexOf('ended'))
  }

  /** The helper has forgotten the lease, and writes no more. */
  free(): void {
    Atomics.store(this.#words, this.#base * 2, SLOT_STATES.indexOf('free'))
  }

  /** Notes that the store holds the lease no longer, unless the main thread has taken it. */
  lose(state: 'expired' | 'stolen'): boolean {
    const held = SLOT_STATES.indexOf('held')
    const lost = SLOT_STATES.indexOf(state)
    return Atomics.compareExchange(this.#words, this.#base * 2, held, lost) === held
  }

  /** Counts a renewal before the state is read for it: then one of the threads sees the other. */
  countSent(): void {
    Atomics.add(this.#words, this.#base * 2 + 1, 1)
  }

  countAnswered(): void {
    Atomics.sub(this.#words, this.#base * 2 + 1, 1)
  }

  noteRenewal({ sentMs, offsetMs, answeredMs }: LateRenewal): void {
    this.#store('offset', offsetMs)
    this.#store('answered', answeredMs)
    this.#store('sent', sentMs)
  }

  #time(name: Time): number {
    return Number(Atomics.load(this.#times, this.#base + FIELDS[name])) / 1000
  }

  #store(name: Time, timeMs: number): void {
    Atomics.store(this.#times, this.#base + FIELDS[name], microseconds(timeMs))
  }
}

function microseconds(timeMs: number): bigint {
  return BigInt(Math.floor(timeMs * 1000))
}

/** What both threads know of all leases: the beat of the main thread, and what has changed. */
export class SharedBoard {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #times: BigInt64Array

  constructor(buffer = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer
    this.#words = new Int32Array(buffer)
    this.#times = new BigInt64Array(buffer)
  }

  /** When the event loop of the main thread last had a turn. */
  get beatMs(): number {
    return Number(Atomics.load(this.#times, 0)) / 1000
  }

  set beatMs(timeMs: number) {
    Atomics.store(this.#times, 0, microseconds(timeMs))
  }

  /** Grows with each answer that the helper has got. */
  get answers(): number {
    return Atomics.load(this.#words, 2)
  }

  countAnswer(): void {
    Atomics.add(this.#words, 2, 1)
  }

  /** Grows with each lease that the main thread takes back. */
  get endings(): number {
    return Atomics.load(this.#words, 3)
  }

  countEnding(): void {
    Atomics.add(this.#words, 3, 1)
  }
}
