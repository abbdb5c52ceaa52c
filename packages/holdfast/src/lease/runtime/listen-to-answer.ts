/** Hears an answer of the store without a promise where the store needs none. */
import { AsyncResource } from 'node:async_hooks'
import { listenToPromise, PendingAnswer, type AnswerListener } from '../../store/pending-answer.js'
import { hasListeners } from './events.js'

/**
 * Calls the listener with the answer. Subscribers of events hear what follows from it in the async
 * context of the request.
 */
export function listenToAnswer<T>(answer: PromiseLike<T>, listener: AnswerListener<T>): void {
  if (!(answer instanceof PendingAnswer)) listenToPromise(answer, listener)
  else (answer as PendingAnswer<T>).listen(hasListeners() ? new InContext(listener) : listener)
}

/** Calls a listener in the async context in which this object was made. */
class InContext<T> extends AsyncResource implements AnswerListener<T> {
  readonly #listener: AnswerListener<T>

  constructor(listener: AnswerListener<T>) {
    super('Holdfast', { requireManualDestroy: true })
    this.#listener = listener
  }

  answered(value: T): void {
    this.runInAsyncScope(() => this.#listener.answered(value))
  }

  failed(reason: unknown): void {
    this.runInAsyncScope(() => this.#listener.failed(reason))
  }
}
