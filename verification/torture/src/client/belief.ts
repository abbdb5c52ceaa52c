/**
 * What a holder believes: from when to when it took the lock for its own. It asks the lease as a
 * program would, at its own steps, and writes down each answer.
 */
import type { Lease } from 'holdfast'
import type { HistoryNote, Recorder } from 'holdfast/conformance'
import { nowNs, type Log } from './log.js'

/** Which lock is claimed, and how much of it. */
export interface Claimed {
  readonly key: string
  readonly mode: 'exclusive' | 'shared'
  readonly weight: number
  readonly capacity: number
}

/** A reading of the clock and of the lease that took longer than this is made again. */
const READING_NS = 200_000n
const MOST_READINGS = 20
/** So many turns of the event loop after its deadline a loss must have been told. */
const TURNS_TO_TELL = 2
/** By how much a timer may be late beyond its turn, in nanoseconds. */
const TOLD_WITHIN_NS = 10_000_000n

export class Belief {
  readonly lease: Lease
  readonly #recorder: Recorder
  readonly #client: string
  readonly #log: Log
  #claimed: Claimed
  #deadlineNs = 0n
  #over = false
  #told = false
  readonly #sinceMs = performance.now()
  #turnsSince = 0

  constructor(client: string, recorder: Recorder, log: Log, lease: Lease, claimed: Claimed) {
    this.#client = client
    this.#recorder = recorder
    this.#log = log
    this.#claimed = claimed
    this.lease = lease
  }

  get key(): string {
    return this.#claimed.key
  }

  get exclusive(): boolean {
    return this.#claimed.mode === 'exclusive'
  }

  /** Whether it has been held for so long, and by nobody else. */
  isAtWork(ms: number): boolean {
    return this.exclusive && !this.#over && performance.now() - this.#sinceMs > ms
  }

  begin(): void {
    const { token, claimId: claim, signal } = this.lease
    this.#deadlineNs = this.#readDeadline()
    const deadline_ns = this.#deadlineNs
    this.#note({
      f: 'acquire',
      type: 'ok',
      claim,
      deadline_ns,
      ...(token === undefined ? {} : { token }),
    })
    if (signal.aborted) this.#hear()
    else signal.addEventListener('abort', () => this.#hear(), { once: true })
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
  look(): boolean {
    if (this.#over) return false
    const atNs = nowNs()
    if (!this.lease.held) {
      this.#lost()
      return false
    }
    // Looks are written down where they matter: when they were begun after the end that was known.
    if (atNs > this.#deadlineNs + READING_NS) this.#note({ f: 'held', type: 'ok' })
    return true
  }

  /** The lease was renewed. */
  extend(): void {
    if (this.#over || !this.lease.held) return
    const deadlineNs = this.#readDeadline()
    if (deadlineNs <= this.#deadlineNs) return
    this.#deadlineNs = deadlineNs
    this.#turnsSince = 0
    this.#note({ f: 'renew', type: 'ok', deadline_ns: deadlineNs })
  }

  /**
   * Called at each turn of the event loop's clock: a lease that is over must have been told of by
   * now.
   */
  turn(): void {
    if (this.#over || this.#told || nowNs() < this.#deadlineNs + TOLD_WITHIN_NS) return
    this.#turnsSince += 1
    if (this.#turnsSince !== TURNS_TO_TELL + 1) return
    const lateMs = Number(nowNs() - this.#deadlineNs) / 1e6
    const message = `"${this.key}" was over for ${this.#client} since ${lateMs.toFixed(1)} ms, and its signal did not tell.`
    this.#log.breach({ property: 'loss-told', key: this.key, message })
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

  #hear(): void {
    this.#told = true
    const { reason } = this.lease.signal as { reason?: { reason?: string; code?: string } }
    // Closing asks holders to stop, too, and is no loss.
    if (reason?.code !== 'LOCK_LOST') return
    const facts = { key: this.key, client: this.#client, reason: reason.reason ?? 'unknown' }
    if (!this.#over) {
      this.#log.loss({ ...facts, deadline_ns: String(this.#deadlineNs), told_ns: String(nowNs()) })
    }
    this.#lost()
  }

  #lost(): void {
    if (this.#over) return
    this.#over = true
    this.#note({ f: 'lost', type: 'info' })
  }

  /**
   * When the lease ends, on the shared clock. A process can be stopped between two readings, so
   * they must lie close.
   */
  #readDeadline(): bigint {
    let deadlineNs = 0n
    for (let tries = 0; tries < MOST_READINGS; tries += 1) {
      const beforeNs = nowNs()
      const { remainingMs } = this.lease
      const afterNs = nowNs()
      deadlineNs = beforeNs + BigInt(Math.floor(remainingMs * 1e6))
      if (afterNs - beforeNs < READING_NS) break
    }
    return deadlineNs
  }

  #note(note: Omit<HistoryNote, 'key'>): void {
    this.#recorder.note({ ...this.#claimed, ...note })
  }
}
