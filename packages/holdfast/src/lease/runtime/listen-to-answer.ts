/** Hears an answer of the store without a promise where the store needs none. */
import { PendingAnswer, type AnswerListener } from '../../store/pending-answer.js'
import { hasListeners } from './events.js'

/**
 * Calls the listener with the answer. Subscribers of events hear what follows from it in the async
 * context of the request, which only a promise carries.
 */
export function listenToAnswer<T>(answer: PromiseLike<T>, listener: AnswerListener<T>): void {
  if (answer instanceof PendingAnswer && !hasListeners()) {
    ;(answer as PendingAnswer<T>).listen(listener)
    return
  }
  answer.then(
    (value) => listener.answered(value),
    (reason: unknown) => listener.failed(reason),
  )
}
