/** How a case waits: in real time, or on a virtual clock. Every wait has a bound. */
import assert from 'node:assert/strict'
import { type Clock, systemClock } from 'holdfast'
import type { MaybePromise } from 'holdfast/store'
import type { VirtualClock } from 'holdfast/testing'

/** The time in which a case of the suite runs. */
export interface Time {
  readonly clock: Clock
  nowMs(): number
  /** Waits. */
  pass(ms: number): Promise<void>
  /** Waits for a promise, and fails when it has not settled by the limit. */
  within<T>(promise: PromiseLike<T>, limitMs: number, what: string): Promise<T>
  /** Waits until a condition is true, and fails when it is not by the limit. */
  eventually(what: string, limitMs: number, condition: () => MaybePromise<boolean>): Promise<void>
}

/** How long to wait between two checks of a condition. */
const LOOK_EVERY_MS = 10

/** The clock and timers of this process. */
export const realTime: Time = {
  clock: systemClock,
  nowMs: () => performance.now(),
  pass: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  // A limit of its own: this package takes nothing from the library but its public names.
  within(promise, limitMs, what) {
    const late = (): Error =>
      new assert.AssertionError({ message: `${what} did not come within ${limitMs} ms` })
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(late()), limitMs)
      void Promise.resolve(promise)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  },
  eventually(what, limitMs, condition) {
    return eventually(realTime, what, limitMs, condition)
  },
}

/** Returns the time of a virtual clock, which steps on whenever a case waits. */
export function virtualTime(clock: VirtualClock): Time {
  const time: Time = {
    clock,
    nowMs: () => clock.monotonicMs(),
    pass: (ms) => clock.advance(ms),
    within: (promise, limitMs, what) =>
      clock.until(Promise.resolve(promise), limitMs).catch((error: unknown) => {
        if (!isStuck(error)) throw error
        throw new assert.AssertionError({
          message: `${what} did not come within ${limitMs} virtual ms`,
        })
      }),
    eventually: (what, limitMs, condition) => eventually(time, what, limitMs, condition),
  }
  return time
}

function isStuck(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Nothing settled')
}

async function eventually(
  time: Time,
  what: string,
  limitMs: number,
  condition: () => MaybePromise<boolean>,
): Promise<void> {
  const untilMs = time.nowMs() + limitMs
  while (!(await condition())) {
    assert.ok(time.nowMs() < untilMs, `not within ${limitMs} ms: ${what}`)
    await time.pass(LOOK_EVERY_MS)
  }
}
