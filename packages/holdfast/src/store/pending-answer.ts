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

const PENDING = Symbol('pending')

/** Why there is no answer. */
class Failure {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
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
  declare private outcome: T | Failure | typeof PENDING
  declare private listener: AnswerListener<T> | undefined
  declare private deferred: Deferred<T> | undefined

  constructor() {
    this.outcome = PENDING
    this.listener = this.deferred = undefined
  }

  get [Symbol.toStringTag](): string {
    return 'PendingAnswer'
  }

  /**
   * Calls the listener with the answer, after this call. The first listener hears a success inside
   * of the call that brings it, in any async context. Later ones hear it as from a promise.
   */
  listen(listener: AnswerListener<T>): void {
    if (this.outcome === PENDING && !this.listener && !this.deferred) this.listener = listener
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
    if (this.outcome instanceof Failure) this.deferred.failed(this.outcome.reason)
    else if (this.outcome !== PENDING) this.deferred.answered(this.outcome)
    return this.deferred.promise
  }

  protected answer(value: T): void {
    this.outcome = value
    try {
      this.listener?.answered(value)
    } catch (error) {
      // It must not keep the answers of the same reply from the others.
      void Promise.reject(error)
    }
    this.deferred?.answered(value)
  }

  /** A request may fail inside of the call of another one, so its listener hears of that later. */
  protected fail(reason: unknown): void {
    this.outcome = new Failure(reason)
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

// Apart, since a function that makes a closure pays for its context each time.
function tellFailure<T>(listener: AnswerListener<T>, reason: unknown): void {
  queueMicrotask(() => listener.failed(reason))
}
