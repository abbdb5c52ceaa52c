/** The requests that nodes have not answered, also those that no caller waits for any more. */
import type { Clock } from '../../../clock/clock.js'
import { settlesWithin } from '../../../clock/settles-within.js'
import type { MaybePromise } from '../../../store/maybe-promise.js'
import {
  listenToPromise,
  PendingAnswer,
  type AnswerListener,
} from '../../../store/pending-answer.js'

export class OpenRequests {
  #count = 0
  /** What waits for the last answer. */
  #onIdle: (() => void) | undefined

  /** Sends a request. Rejects also with what `request` throws. */
  send<T>(request: () => MaybePromise<T>): Promise<T> {
    return new Promise((answered, failed) => this.ask(request, { answered, failed }))
  }

  /** Sends a request. The listener hears also what `request` throws, but never within this call. */
  ask<T>(request: () => MaybePromise<T>, listener: AnswerListener<T>): void {
    this.#count += 1
    const counted = new CountedListener(listener, this.#onAnswer)
    let answer: MaybePromise<T>
    try {
      answer = request()
    } catch (error) {
      answer = Promise.reject(error)
    }
    if (answer instanceof PendingAnswer) answer.listen(counted)
    else listenToPromise(Promise.resolve(answer), counted)
  }

  /** Resolves when all are answered, with those that answers lead to, or when the time is up. */
  async end(clock: Clock, withinMs: number): Promise<void> {
    const untilMs = clock.monotonicMs() + withinMs
    for (;;) {
      const leftMs = untilMs - clock.monotonicMs()
      if (this.#count === 0 || leftMs <= 0) return
      await settlesWithin(new Promise<void>((idle) => (this.#onIdle = idle)), leftMs, { clock })
      // What their answers lead to leaves within this turn.
      await new Promise<void>((resolve) => clock.timer(0, resolve))
    }
  }

  readonly #onAnswer = (): void => {
    this.#count -= 1
    if (this.#count === 0) this.#onIdle?.()
  }
}

/** Notes that a request is over, once its listener has heard of it. */
class CountedListener<T> implements AnswerListener<T> {
  readonly #listener: AnswerListener<T>
  readonly #onAnswer: () => void

  constructor(listener: AnswerListener<T>, onAnswer: () => void) {
    this.#listener = listener
    this.#onAnswer = onAnswer
  }

  answered(value: T): void {
    try {
      this.#listener.answered(value)
    } finally {
      this.#onAnswer()
    }
  }

  failed(reason: unknown): void {
    try {
      this.#listener.failed(reason)
    } finally {
      this.#onAnswer()
    }
  }
}
