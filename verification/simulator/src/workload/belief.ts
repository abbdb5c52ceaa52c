/**
 * What a holder believes: from when to when it took the lock for its own. It asks the lease as a
 * program would, at its own steps, and writes down each answer; it is never told anything that a
 * program could not know.
 */
import type { Lease } from 'holdfast'
import type { HistoryNote } from 'holdfast/conformance'
import type { Process } from '../world/process.js'
import type { Chronicle } from './chronicle.js'
import { nanoseconds } from './chronicle.js'

/** Which lock is claimed, and how much of it. */
export interface Claimed {
  readonly key: string
  readonly mode: 'exclusive' | 'shared'
  readonly weight: number
  readonly capacity: number
}

export interface BeliefOptions {
  readonly client: string
  readonly process: Process
  readonly chronicle: Chronicle
  readonly lease: Lease
  readonly claimed: Claimed
  /** The true time, in milliseconds. */
  readonly nowMs: () => number
}

/** Differences below this come from converting times. */
const ROUNDING_MS = 1e-3

export class Belief {
  readonly lease: Lease
  readonly #options: BeliefOptions
  #claimed: Claimed
  #deadlineMs = -Infinity
  #over = false

  constructor(options: BeliefOptions) {
    this.#options = options
    this.#claimed = options.claimed
    this.lease = options.lease
  }

  /** Until when it believes, in true time. */
  get deadlineMs(): number {
    return this.#deadlineMs
  }

  get over(): boolean {
    return this.#over
  }

  get process(): Process {
    return this.#options.process
  }

  get client(): string {
    return this.#options.client
  }

  get key(): string {
    return this.#claimed.key
  }

  get exclusive(): boolean {
    return this.#claimed.mode === 'exclusive'
  }

  /** The lease was granted. */
  begin(): void {
    const { token, claimId: claim } = this.lease as Lease & { token: bigint | undefined }
    this.#deadlineMs = this.#localDeadlineMs()
    const deadline_ns = nanoseconds(this.#deadlineMs)
    this.#note({
      f: 'acquire',
      type: 'ok',
      claim,
      deadline_ns,
      ...(token === undefined ? {} : { token }),
    })
  }

  /** A writer asks to go on as a reader. From the asking on it must not count on being alone. */
  async downgrade(ask: () => Promise<void>): Promise<void> {
    this.#claimed = { ...this.#claimed, mode: 'shared', weight: 1 }
    this.#note({ f: 'downgrade', type: 'invoke' })
    let type: 'ok' | 'info' = 'info'
    try {
      await ask()
      type = 'ok'
    } finally {
      this.#note({ f: 'downgrade', type })
    }
  }

  /** Asks the lease whether it is held. From the first no on, the holder stops working under it. */
  look(sinceMs?: number): boolean {
    if (this.#over) return false
    if (!this.lease.held) {
      this.lost(sinceMs)
      return false
    }
    // Looks are written down where they matter: after the end that was known. Times were converted,
    // hence the tolerance.
    if (this.#options.nowMs() > this.#deadlineMs + ROUNDING_MS)
      this.#note({ f: 'held', type: 'ok' })
    return true
  }

  /** The lease was renewed. */
  extend(): void {
    if (this.#over) return
    const deadlineMs = this.#localDeadlineMs()
    if (deadlineMs <= this.#deadlineMs + ROUNDING_MS) return
    this.#deadlineMs = deadlineMs
    this.#note({ f: 'renew', type: 'ok', deadline_ns: nanoseconds(deadlineMs) })
  }

  /** @param sinceMs when it is known to have ended at the latest, if that is earlier than now */
  lost(sinceMs = this.#options.nowMs()): void {
    if (this.#over) return
    this.#over = true
    this.#note({ f: 'lost', type: 'info' }, sinceMs)
  }

  /** The holder gives it back, on purpose. */
  release(): void {
    this.#over = true
    this.#note({ f: 'release', type: 'invoke' })
  }

  /** What came of the release: no outcome means that nobody knows. */
  released(outcome: 'released' | 'lost' | undefined): void {
    const type = outcome === undefined ? 'info' : outcome === 'released' ? 'ok' : 'fail'
    this.#note({ f: 'release', type })
  }

  #localDeadlineMs(): number {
    const { process, lease } = this.#options
    return process.machine.trueMs(process.monotonicMs() + lease.remainingMs)
  }

  #note(note: Omit<HistoryNote, 'key'>, atMs?: number): void {
    const { chronicle, process, client } = this.#options
    chronicle.note(process.pid, client, { ...this.#claimed, ...note }, atMs)
  }
}
