/** A point for each look, of what one viewer may see. */
import type { Clock } from '../../clock/clock.js'
import type { Lines } from '../view.js'

/** What one look has counted. */
export interface Counts {
  readonly locks: number
  readonly waiters: number
  readonly oldestWaitMs: number
  readonly latencyMs: number | undefined
}

const MOST_POINTS = 240

export class CountLines {
  readonly #clock: Clock
  readonly #points: Counts[] = []
  readonly #atMs: number[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(counts: Counts): void {
    this.#points.push(counts)
    this.#atMs.push(this.#clock.monotonicMs())
    if (this.#points.length <= MOST_POINTS) return
    this.#points.shift()
    this.#atMs.shift()
  }

  view(nowMs: number): Lines {
    return {
      sinceMs: Math.max(0, nowMs - (this.#atMs[0] ?? nowMs)),
      locks: this.#points.map(({ locks }) => locks),
      waiters: this.#points.map(({ waiters }) => waiters),
      oldestWaitMs: this.#points.map(({ oldestWaitMs }) => Math.round(oldestWaitMs)),
      latencyMs: this.#points.map(({ latencyMs = null }) => latencyMs),
    }
  }
}
