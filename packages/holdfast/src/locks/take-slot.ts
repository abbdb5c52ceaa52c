/** Takes the slot of a run, for longer than another replica may want the same one. */
import { LockUsageError } from '../errors.js'
import { Acquirer } from '../lease/acquirer.js'
import { keepTaken } from '../lease/adopt/export-and-adopt.js'
import type { Client } from '../lease/client.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import { describe } from '../options/describe.js'
import { CAPACITY_ALL } from '../store/contract.js'
import { fixedSettings } from './at-least.js'
import { slotName } from './slot-name.js'

/** The largest time of a `Date`. */
const LAST_DATE_MS = 8.64e15

/**
 * A slot that one replica takes.
 *
 * Clocks differ by less than `atLeastMs`. A replica takes a slot until its own clock is `atLeastMs`
 * past it, and never later. The first one leaves it taken until its clock is twice as far past it.
 * So no other one finds it free, however long a process was paused.
 */
export class Slot {
  readonly name: string
  readonly #client: Client
  readonly #slotMs: number
  readonly #atLeastMs: number
  readonly #acquirer: Acquirer
  /** When it may be free again, by the monotonic clock. */
  readonly #untilMs: number

  /**
   * @param lock the full name of the schedule
   * @throws LockUsageError when the slot makes no sense, UnsupportedLockError when the store cannot
   * keep it.
   */
  constructor(client: Client, lock: string, slot: Date | number, atLeastMs: number) {
    const { clock } = client.runtime
    this.#client = client
    this.#slotMs = checkSlot(lock, slot)
    this.#atLeastMs = atLeastMs
    this.name = slotName(lock, this.#slotMs)
    const aheadMs = this.#slotMs - clock.wallMs()
    if (aheadMs > atLeastMs) throw inTheFuture(lock, this.#slotMs, atLeastMs)
    const keptMs = Math.max(atLeastMs, aheadMs + 2 * atLeastMs)
    this.#untilMs = clock.monotonicMs() + keptMs
    const settings = fixedSettings(client, this.name, client.settings, { atLeastMs: keptMs })
    const { ttlMs } = settings
    const whole = { capacity: CAPACITY_ALL, weight: CAPACITY_ALL } as const
    this.#acquirer = new Acquirer(
      client,
      { lock: this.name, kind: 'mutex', ...whole, ttlMs },
      settings,
    )
  }

  get isLate(): boolean {
    return this.#client.runtime.clock.wallMs() - this.#slotMs > this.#atLeastMs
  }

  /** Resolves to a lease whose release leaves the slot taken, or to why there is none. */
  async take(): Promise<HeldLease | 'taken' | 'late'> {
    if (this.isLate) return 'late'
    const lease = await this.#acquirer.tryAcquire()
    if (!lease) return 'taken'
    // It may have been paused on the way. No replica that is in time finds the slot taken by it.
    if (this.isLate) {
      await lease.releaseQuietly()
      return 'late'
    }
    try {
      await keepTaken(lease, this.#untilMs - this.#client.runtime.clock.monotonicMs())
    } catch (error) {
      await this.free(lease)
      throw error
    }
    return lease
  }

  /** Frees the slot: its run has not begun. */
  async free(lease: HeldLease): Promise<void> {
    lease.grant.keptUntilMs = 0
    await lease.releaseQuietly()
  }
}

function checkSlot(lock: string, slot: unknown): number {
  const slotMs = slot instanceof Date ? slot.getTime() : slot
  if (typeof slotMs === 'number' && Math.abs(slotMs) <= LAST_DATE_MS) return Math.trunc(slotMs)
  throw new LockUsageError(
    `The slot of "${lock}" must be a valid Date or its milliseconds, not ${describe(slot)}.`,
    { lock },
  )
}

function inTheFuture(lock: string, slotMs: number, atLeastMs: number): LockUsageError {
  return new LockUsageError(
    `The slot of "${lock}" is ${new Date(slotMs).toISOString()}, more than atLeastMs (${atLeastMs}) after the clock of this process. ` +
      'Set the clock, or give the time at which the run was due.',
    { lock },
  )
}
