/**
 * What a holder believes: from when to when it took the lock for its own. It asks the lease as a
 * program would, at its own steps, and records each answer. It learns nothing that a program could
 * not know.
 */
import type { Lease } from 'holdfast'
import type { HistoryNote } from '@holdfast/conformance'

/** Which lock is claimed, and how much of it. */
export interface Claimed {
  readonly key: string
  readonly mode: 'exclusive' | 'shared'
  readonly weight: number
  readonly capacity: number
}

/** How a belief reads the time and records what it sees. */
export interface Instruments {
  /** The time of the history, in nanoseconds. */
  nowNs(): bigint
  /** When the lease ends, on the same clock. */
  deadlineNs(lease: Lease): bigint
  /** Smaller differences come from reading or converting clocks. */
  readonly toleranceNs: bigint
  note(note: HistoryNote, atNs?: bigint): void
}

export class Belief {
  readonly actor: string
  readonly lease: Lease
  /** The name that the holder shows the protected resource beside its token. */
  readonly owner: string
  readonly #instruments: Instruments
  #claimed: Claimed
  #deadlineNs = 0n
  #over = false

  constructor(actor: string, lease: Lease, claimed: Claimed, instruments: Instruments) {
    this.actor = actor
    this.lease = lease
    this.owner = `${lease.claimId}/${String(lease.token)}`
    this.#claimed = claimed
    this.#instruments = instruments
  }

  /** Until when it believes. */
  get deadlineNs(): bigint {
    return this.#deadlineNs
  }

  get isOver(): boolean {
    return this.#over
  }

  get key(): string {
    return this.#claimed.key
  }

  get isExclusive(): boolean {
    return this.#claimed.mode === 'exclusive'
  }

  /** The lease was granted. */
  begin(): void {
    const { token, claimId: claim } = this.lease
    this.#deadlineNs = this.#instruments.deadlineNs(this.lease)
    const deadline_ns = this.#deadlineNs
    const shown = token === undefined ? {} : { token }
    this.#note({ f: 'acquire', type: 'ok', claim, deadline_ns, ...shown })
  }

  /** A writer asks to go on as a reader. From the request on it must not count on being alone. */
  async downgrade(request: () => Promise<void>): Promise<void> {
    this.#claimed = { ...this.#claimed, mode: 'shared', weight: 1 }
    this.#note({ f: 'downgrade', type: 'invoke' })
    let type: 'ok' | 'info' = 'info'
    try {
      await request()
      type = 'ok'
    } finally {
      this.#note({ f: 'downgrade', type })
    }
  }

  /**
   * Asks the lease whether it is held. From the first no on, the holder stops working under it.
   *
   * @param sinceNs when a lease that is not held ended at the latest; default: now
   */
  isHeld(sinceNs?: bigint): boolean {
    if (this.#over) return false
    const atNs = this.#instruments.nowNs()
    if (!this.lease.held) {
      this.lose(sinceNs)
      return false
    }
    // Only a look after the known deadline says something new.
    if (atNs > this.#deadlineNs + this.#instruments.toleranceNs)
      this.#note({ f: 'held', type: 'ok' })
    return true
  }

  /** The lease was renewed. */
  extend(): void {
    if (this.#over || !this.lease.held) return
    const deadlineNs = this.#instruments.deadlineNs(this.lease)
    if (deadlineNs <= this.#deadlineNs + this.#instruments.toleranceNs) return
    this.#deadlineNs = deadlineNs
    this.#note({ f: 'renew', type: 'ok', deadline_ns: deadlineNs })
  }

  /** The holder learns that its lease ended. */
  lose(sinceNs?: bigint): void {
    if (this.#over) return
    this.#over = true
    this.#note({ f: 'lost', type: 'info' }, sinceNs)
  }

  /**
   * The holder gives the lease back.
   * @param trustedForMs how long it trusts the lock to stay taken yet, if that is not over
   */
  release(trustedForMs = 0): void {
    this.#over = true
    const forNs = BigInt(Math.round(trustedForMs * 1e6))
    const until = forNs <= 0n ? {} : { deadline_ns: this.#instruments.nowNs() + forNs }
    this.#note({ f: 'release', type: 'invoke', ...until })
  }

  /** The release was answered, or, without an outcome, stays in doubt. */
  released(outcome: 'released' | 'lost' | undefined): void {
    const type = outcome === undefined ? 'info' : outcome === 'released' ? 'ok' : 'fail'
    this.#note({ f: 'release', type })
  }

  #note(note: Omit<HistoryNote, 'key'>, atNs?: bigint): void {
    this.#instruments.note({ ...this.#claimed, ...note }, atNs)
  }
}
