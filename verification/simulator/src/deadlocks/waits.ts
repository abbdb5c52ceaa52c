/**
 * What the actors of a run know of themselves: the leases that each had, and its waits, from when
 * until when. The judge asks it whether a reported cycle existed at one instant.
 */
import type { DeadlockError, Lease } from 'holdfast'
import type { Agenda } from '../world/agenda.js'

/** A time in the order of all that happens in a run: two events may have the same time. */
interface Span {
  readonly from: number
  until: number
}

/** What an actor has or wants of a lock. */
interface Part {
  readonly actor: string
  readonly lock: string
  readonly weight: number
  readonly capacity: number
}

interface Wait extends Span, Part {
  readonly fromMs: number
  /** The leases under which it waits. */
  readonly leases: readonly Lease[]
}

interface Hold extends Span, Part {
  readonly lease: Lease
}

/** A deadlock that a client reported. */
export interface Report {
  readonly actor: string
  readonly error: DeadlockError
  readonly atMs: number
}

export class Waits {
  readonly reports: Report[] = []
  readonly #agenda: Agenda
  readonly #waits: Wait[] = []
  readonly #holds: Hold[] = []
  #now = 0

  constructor(agenda: Agenda) {
    this.#agenda = agenda
  }

  begin(part: Part, leases: readonly Lease[]): void {
    const { nowMs } = this.#agenda
    this.#waits.push({ ...part, leases, fromMs: nowMs, from: this.#next(), until: Infinity })
  }

  /** The wait of an actor is over. */
  end(actor: string): void {
    const wait = this.#waits.findLast((one) => one.actor === actor)
    if (wait?.until === Infinity) wait.until = this.#next()
  }

  hold(part: Part, lease: Lease): void {
    const hold = { ...part, lease, from: this.#next(), until: Infinity }
    this.#holds.push(hold)
    lease.signal.addEventListener('abort', () => this.#drop(hold))
  }

  /** An actor gives a lease back. */
  release(lease: Lease): void {
    const hold = this.#holds.find((one) => one.lease === lease)
    if (hold) this.#drop(hold)
  }

  report(actor: string, error: DeadlockError): void {
    this.reports.push({ actor, error, atMs: this.#agenda.nowMs })
  }

  /**
   * Returns a time at which each holder of the cycle waited for the lock of the next one, and none
   * of them could continue. Undefined when there was none.
   */
  instantOf({ cycle }: DeadlockError): number | undefined {
    const steps = cycle.map(({ claimId, waitsFor }) =>
      this.#waits.filter(
        ({ lock, leases }) =>
          lock === waitsFor && leases.some((lease) => lease.claimId === claimId),
      ),
    )
    // A deadlock may close with the wait of another actor: one that stands in the way of a step.
    return this.#waits.find(({ from }) => {
      const waits = steps.map((step) => step.find((wait) => covers(wait, from)))
      if (waits.includes(undefined)) return false
      const hold = cycle.every(({ claimId }) =>
        this.#holds.some((one) => one.lease.claimId === claimId && covers(one, from)),
      )
      if (!hold) return false
      const stuck = this.#stuckAt(from)
      return waits.every((wait) => wait !== undefined && stuck.has(wait.actor))
    })?.fromMs
  }

  /**
   * The actors that cannot go on until another one of them gives up. Where the order of a queue
   * matters, a waiter that finds no room counts as if it stood ahead.
   */
  #stuckAt(instant: number): Set<string> {
    const waits = this.#waits.filter((wait) => covers(wait, instant))
    const holds = this.#holds.filter((hold) => covers(hold, instant))
    const stuck = new Set(waits.map(({ actor }) => actor))
    const findsNoRoom = ({ lock, weight, capacity }: Part): boolean => {
      const held = holds.filter((hold) => hold.lock === lock && stuck.has(hold.actor))
      return held.reduce((sum, hold) => sum + hold.weight, 0) + weight > capacity
    }
    const isStuck = (wait: Wait): boolean =>
      waits.some((one) => one.lock === wait.lock && findsNoRoom(one))
    for (;;) {
      const free = waits.find((wait) => stuck.has(wait.actor) && !isStuck(wait))
      if (!free) return stuck
      stuck.delete(free.actor)
    }
  }

  #drop(hold: Hold): void {
    hold.until = Math.min(hold.until, this.#next())
  }

  #next(): number {
    this.#now += 1
    return this.#now
  }
}

function covers({ from, until }: Span, instant: number): boolean {
  return from <= instant && instant < until
}
