/**
 * Attempts that found no store. The client sends all of them again together, in call order, ever
 * more slowly. So an outage costs at most one round of requests a second, and no caller overtakes
 * another.
 */
import type { Timer } from '../../clock/clock.js'
import type { LockError } from '../../errors.js'
import type { Runtime } from '../runtime/runtime.js'
import { outsideContext } from '../../async/async-context.js'

const FIRST_PAUSE_MS = 50
export const LONGEST_PAUSE_MS = 1000

export interface Retryable {
  readonly lock: string
  /** Grows from caller to caller of a runtime. */
  readonly order: number
  /** Sends its attempt again. */
  retry(): void
}

export class RetryRounds {
  readonly #runtime: Runtime
  readonly #waiting = new Map<string, Map<Retryable, LockError>>()
  /** The attempts of the next round by lock, and why each failed last. */
  readonly waiting: ReadonlyMap<string, ReadonlyMap<Retryable, LockError>> = this.#waiting
  #timer: Timer | undefined
  #rounds = 0
  #failedMs = -Infinity

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Why attempts for this lock wait for the next round; undefined when there is none. */
  failureOf(lock: string): LockError | undefined {
    return this.#waiting.get(lock)?.values().next().value
  }

  has(one: Retryable): boolean {
    return this.#waiting.get(one.lock)?.has(one) ?? false
  }

  /** Sends an attempt again with the next round. */
  add(one: Retryable, error: LockError): void {
    const nowMs = this.#runtime.clock.monotonicMs()
    // The last round was answered, so this is another outage.
    if (this.#waiting.size === 0 && nowMs - this.#failedMs > 2 * LONGEST_PAUSE_MS) this.#rounds = 0
    this.#failedMs = nowMs
    const ofLock = this.#waiting.get(one.lock) ?? new Map<Retryable, LockError>()
    this.#waiting.set(one.lock, ofLock.set(one, error))
    this.#timer ??= this.#arm()
  }

  /** Removes an attempt that was answered, or that no caller waits for. */
  delete(one: Retryable): void {
    const ofLock = this.#waiting.get(one.lock)
    if (!ofLock?.delete(one) || ofLock.size > 0) return
    this.#waiting.delete(one.lock)
    if (this.#waiting.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(): Timer {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#rounds)
    const afterMs = this.#runtime.jitter(0.75, 1) * pauseMs
    return outsideContext(() => this.#runtime.clock.timer(afterMs, () => this.#round()))
  }

  #round(): void {
    this.#timer = undefined
    this.#rounds += 1
    const all = [...this.#waiting.values()].flatMap((ofLock) => [...ofLock.keys()])
    this.#waiting.clear()
    for (const one of all.sort((a, b) => a.order - b.order)) one.retry()
  }
}
