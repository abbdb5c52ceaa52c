/** Checks that the signal of each lease announces its loss in time. */
import type { Belief } from '@holdfast/workload'
import { nowNs, type Log } from './log.js'

/** How many ticks after its deadline a loss must have been announced. */
const TICKS_TO_ANNOUNCE = 2
/** By how much a timer may be late, in nanoseconds. */
const LATE_TIMER_NS = 10_000_000n

export class LossWatch {
  readonly #belief: Belief
  readonly #log: Log
  #announced = false
  #ticksAfter = 0
  #deadlineNs = 0n

  constructor(belief: Belief, log: Log) {
    this.#belief = belief
    this.#log = log
    const { signal } = belief.lease
    if (signal.aborted) this.#aborted()
    else signal.addEventListener('abort', () => this.#aborted(), { once: true })
  }

  /** Called in each tick of the timer. */
  tick(): void {
    const { isOver, deadlineNs, key, actor } = this.#belief
    if (this.#deadlineNs !== deadlineNs) this.#ticksAfter = 0
    this.#deadlineNs = deadlineNs
    if (isOver || this.#announced || nowNs() < deadlineNs + LATE_TIMER_NS) return
    this.#ticksAfter += 1
    if (this.#ticksAfter !== TICKS_TO_ANNOUNCE + 1) return
    const lateMs = Number(nowNs() - deadlineNs) / 1e6
    const message = `"${key}" was over for ${actor} since ${lateMs.toFixed(1)} ms, and its signal did not tell.`
    this.#log.breach({ property: 'loss-announced', key, message })
  }

  #aborted(): void {
    this.#announced = true
    const { lease, key, actor, isOver, deadlineNs } = this.#belief
    const { reason } = lease.signal as { reason?: { reason?: string; code?: string } }
    // Closing asks holders to stop, too, and is no loss.
    if (reason?.code !== 'LOCK_LOST') return
    if (!isOver) {
      const facts = { key, client: actor, reason: reason.reason ?? 'unknown' }
      this.#log.loss({ ...facts, deadline_ns: String(deadlineNs), announced_ns: String(nowNs()) })
    }
    this.#belief.lose()
  }
}
