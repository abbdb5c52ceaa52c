/**
 * The answer of a store to one request that is on its way. The first listener hears of it without a
 * promise, since a promise with its callbacks costs as much as the rest of a request. Any other
 * caller awaits it like a promise, which is made then.
 */

/** Hears how a request ended: one of its methods is called, once. */
export interface AnswerListener<T> {
  answered(value: T): void
  failed(reason: unknown): void
}

/** The promise of an answer that is not there yet. */
class Deferred<T> implements AnswerListener<T> {
  declare readonly promise: Promise<T>
  declare answered: (value: T) => void
  declare failed: (reason: unknown) => void

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.answered = resolve
      this.failed = reject
    })
  }
}

export class PendingAnswer<T> implements Promise<T> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare private state: 'pending' | 'answered' | 'failed'
  /** The answer, or why there is none. */
  declare private outcome: unknown
  declare private listener: AnswerListener<T> | undefined
  declare private deferred: Deferred<T> | undefined

  constructor() {
    this.state = 'pending'
    this.outcome = this.listener = this.deferred = undefined
  }

  get [Symbol.toStringTag](): string {
    return 'PendingAnswer'
  }

  /**
   * Calls the listener with the answer, after this call. The first listener hears a success inside
   * of the call that brings it, in any async context. Later ones hear it as from a promise.
   */
  listen(listener: AnswerListener<T>): void {
    if (this.state === 'pending' && !this.listener && !this.deferred) this.listener = listener
    else listenToPromise(this, listener)
  }

  then<A = T, B = never>(
    onAnswer?: ((value: T) => A | PromiseLike<A>) | null,
    onFailure?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.promise().then(onAnswer, onFailure)
  }

  catch<B = never>(onFailure?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.promise().catch(onFailure)
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.promise().finally(onEnd)
  }

  private promise(): Promise<T> {
    if (this.deferred) return this.deferred.promise
    this.deferred = new Deferred()
    if (this.state === 'answered') this.deferred.answered(this.outcome as T)
    else if (this.state === 'failed') this.deferred.failed(this.outcome)
    return this.deferred.promise
  }

  protected answer(value: T): void {
    this.state = 'answered'
    this.outcome = value
    if (this.listener) tell(this.listener, value)
    this.deferred?.answered(value)
  }

  /** A request may fail inside of the call of another one, so its listener hears of that later. */
  protected fail(reason: unknown): void {
    this.state = 'failed'
    this.outcome = reason
    if (this.listener) tellFailure(this.listener, reason)
    this.deferred?.failed(reason)
  }
}

/** Calls the listener as a promise does. */
export function listenToPromise<T>(answer: PromiseLike<T>, listener: AnswerListener<T>): void {
  answer.then(
    (value) => listener.answered(value),
    (reason: unknown) => listener.failed(reason),
  )
}

/** A listener that throws must not keep the answers of the same reply from the others. */
function tell<T>(listener: AnswerListener<T>, value: T): void {
  try {
    listener.answered(value)
  } catch (error) {
    void Promise.reject(error)
  }
}

// Apart, since a function that makes a closure pays for its context each time.
function tellFailure<T>(listener: AnswerListener<T>, reason: unknown): void {
  queueMicrotask(() => listener.failed(reason))
}
