/**
 * Time and randomness under the control of a test.
 *
 * Time moves only through `advance`, which fires the timers that are due, in order. All promise
 * callbacks of one timer run before the next timer fires. The same seed gives the same run.
 */
import type { Clock, Random, Timer } from '../clock/clock.js'
import { pause } from '../clock/pause.js'

interface PendingTimer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
}

/** A clock that moves only when a test moves it. */
export class VirtualClock implements Clock {
  #nowMs = 0
  #wallMs: number
  #order = 0
  readonly #pending = new Set<PendingTimer>()

  /** @param wallMs the wall clock at the beginning, in milliseconds since the Unix epoch */
  constructor(wallMs = 1_700_000_000_000) {
    this.#wallMs = wallMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  wallMs(): number {
    return this.#wallMs + this.#nowMs
  }

  /** How many timers wait to fire. */
  get timers(): number {
    return this.#pending.size
  }

  timer(delayMs: number, fire: () => void): Timer {
    this.#order += 1
    const timer: PendingTimer = {
      dueMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#order,
      fire,
    }
    this.#pending.add(timer)
    return { cancel: () => void this.#pending.delete(timer) }
  }

  /** Moves time forward by `ms`, and fires the timers that are due. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms
    await settle()
    for (let next = this.#next(untilMs); next; next = this.#next(untilMs)) {
      this.#pending.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      next.fire()
      await settle()
    }
    this.#nowMs = untilMs
    await settle()
  }

  /** Resolves when the test has moved time by `ms`: for stand-ins of work that takes long. */
  pause(ms: number): Promise<void> {
    return pause(this, ms)
  }

  /** Moves time forward without timers: the process was stopped, or its event loop blocked. */
  freeze(ms: number): void {
    this.#nowMs += ms
  }

  /** Moves only the wall clock: an operator set it, or the machine slept. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  /** Advances until the promise settles, at most by `limitMs`. Resolves or rejects like it. */
  async until<T>(promise: Promise<T>, limitMs = 60_000): Promise<T> {
    let settled = false
    const mark = (): void => {
      settled = true
    }
    promise.then(mark, mark)
    const endMs = this.#nowMs + limitMs
    await settle()
    while (!settled && this.#nowMs < endMs) {
      const next = this.#next(endMs)
      await this.advance(next ? Math.max(0, next.dueMs - this.#nowMs) : endMs - this.#nowMs)
    }
    if (settled) return promise
    throw new Error(
      `Nothing settled within ${limitMs} virtual ms. What waits for a timer of another clock, or ` +
        'for a server, does not settle in virtual time.',
    )
  }

  #next(untilMs: number): PendingTimer | undefined {
    let next: PendingTimer | undefined
    for (const timer of this.#pending) {
      if (timer.dueMs > untilMs) continue
      if (
        !next ||
        timer.dueMs < next.dueMs ||
        (timer.dueMs === next.dueMs && timer.order < next.order)
      )
        next = timer
    }
    return next
  }
}

/** The generator mulberry32. */
export class SeededRandom implements Random {
  #state: number
  #ids = 0

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  id(): string {
    this.#ids += 1
    return `seeded-${this.#ids}-${Math.floor(this.next() * 2 ** 32).toString(36)}`
  }
}

/** Kept: fake timers replace it, and would fire it only when the test moves them on. */
const afterTick = setImmediate

/** Resolves when all promise callbacks that are ready have run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => void afterTick(resolve))
}
