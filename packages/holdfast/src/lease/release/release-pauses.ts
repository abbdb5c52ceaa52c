/**
 * Pauses after releases, on a store without a queue.
 *
 * There a release and this process's next attempt would leave together, while other processes
 * attempt now and then: one process could win again and again. So a process that found the lock
 * taken a moment ago lets the others attempt first. A process that takes the lock again at once
 * each time never finds it taken. It pauses once a second: only then can it find out that there are
 * others.
 */
import type { Clock, Random } from '../../clock/clock.js'
import type { ReleaseOutcome } from './release-until-answered.js'

/**
 * It counts for this long, and for this many pauses, that an attempt found the lock taken. A
 * process that wins does not find that, though others go on attempting.
 */
const CONTENDED_MS = 1000
const CONTENDED_PAUSES = 20
/** How soon after its release a lock is taken again at once. */
const AT_ONCE_MS = 50
/** The shortest pause: attempts of other processes that are on their way get through. */
const SHORTEST_MS = 5
/** With more locks all are forgotten, which costs a pause. */
const MOST_KEPT = 1024

interface Contention {
  /** When an attempt found the lock taken last. */
  takenMs: number
  /** How often this process has paused since. */
  pauses: number
  /** Since when this process has taken the lock again at once, without a pause. */
  rowMs: number
  releasedMs: number
}

export class ReleasePauses {
  readonly #clock: Clock
  readonly #random: Random
  readonly #longestMs: number
  readonly #locks = new Map<string, Contention>()
  readonly #open = new Map<string, Promise<void>>()

  /** @param longestMs the longest pause: how soon another process may attempt again */
  constructor(clock: Clock, random: Random, longestMs: number) {
    this.#clock = clock
    this.#random = random
    this.#longestMs = longestMs
  }

  /**
   * Returns what resolves when this process may attempt the lock again; undefined for at once. A
   * wait that might end during the pause has none, or it would end without an attempt.
   */
  before(lock: string, waitMs: number): Promise<void> | undefined {
    return waitMs > 2 * this.#longestMs ? this.#open.get(lock) : undefined
  }

  /** An attempt of this process found the lock taken. */
  noteTaken(lock: string): void {
    const contention = this.#of(lock)
    contention.takenMs = this.#clock.monotonicMs()
    contention.pauses = 0
  }

  /** This process releases a lock that it has held for `heldMs`. */
  noteReleased(lock: string, outcome: ReleaseOutcome, heldMs: number): void {
    const nowMs = this.#clock.monotonicMs()
    const contention = this.#of(lock)
    const isSoon = nowMs - contention.releasedMs <= heldMs + AT_ONCE_MS
    contention.releasedMs = nowMs
    if (!isSoon) contention.rowMs = nowMs - heldMs
    const isContended =
      nowMs - contention.takenMs <= CONTENDED_MS + heldMs || contention.pauses < CONTENDED_PAUSES
    if (!isContended && nowMs - contention.rowMs < CONTENDED_MS) return
    contention.pauses += 1
    contention.rowMs = nowMs
    // Random, or two processes would hand the lock to each other between the attempts of others.
    const longestMs = Math.min(this.#longestMs, Math.max(SHORTEST_MS, heldMs))
    const pauseMs = SHORTEST_MS + this.#random.next() * (longestMs - SHORTEST_MS)
    const over = this.#pauseAfter(outcome, pauseMs)
    this.#open.set(lock, over)
    void over.then(() => {
      if (this.#open.get(lock) === over) this.#open.delete(lock)
    })
  }

  #of(lock: string): Contention {
    let contention = this.#locks.get(lock)
    if (contention) return contention
    if (this.#locks.size >= MOST_KEPT) this.#locks.clear()
    const pauses = CONTENDED_PAUSES
    contention = { takenMs: -Infinity, pauses, rowMs: -Infinity, releasedMs: -Infinity }
    this.#locks.set(lock, contention)
    return contention
  }

  async #pauseAfter(outcome: ReleaseOutcome, pauseMs: number): Promise<void> {
    try {
      await outcome
    } catch {
      // The caller of the release gets the error.
    }
    await new Promise<void>((resolve) => void this.#clock.timer(pauseMs, resolve))
  }
}
