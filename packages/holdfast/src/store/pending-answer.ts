/**
 * The answer of a store to one request that is on its way. One listener hears of it without a
 * promise, since a promise with its callbacks costs as much as the rest of a request. Any other
 * caller awaits it like a promise, which is made then.
 */
import { invariant } from '../invariant.js'

type EarlyAnswer<T> = (listener: AnswerListener<T>) => void

/** Hears how a request ended: one of its methods is called, once. */
export interface AnswerListener<T> {
  answered(value: T): void
  failed(reason: unknown): void
}

export class PendingAnswer<T> implements Promise<T> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare private listener: AnswerListener<T> | undefined
  /** Reports an answer that came before its listener. */
  declare private early: EarlyAnswer<T> | undefined
  declare private promise: Promise<T> | undefined

  constructor() {
    this.listener = this.early = this.promise = undefined
  }

  get [Symbol.toStringTag](): string {
    return 'PendingAnswer'
  }

  /**
   * Calls the listener with the answer, after this call. A success comes inside of the call that
   * brings it, in any async context.
   */
  listen(listener: AnswerListener<T>): void {
    invariant(this.listener === undefined, 'an answer has one listener')
    this.listener = listener
    if (this.early) hearEarly(this.early, listener)
  }

  then<A = T, B = never>(
    onAnswer?: ((value: T) => A | PromiseLike<A>) | null,
    onFailure?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.promise ??= new Promise<T>((answered, failed) => this.listen({ answered, failed }))
    return this.promise.then(onAnswer, onFailure)
  }

  catch<B = never>(onFailure?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onFailure)
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.then(undefined, undefined).finally(onEnd)
  }

  protected answer(value: T): void {
    if (this.listener) tell(this.listener, value)
    else this.early = earlyAnswer(value)
  }

  /** A request may fail inside of the call of another one, so its listener hears of that later. */
  protected fail(reason: unknown): void {
    const { listener } = this
    if (listener) queueMicrotask(() => listener.failed(reason))
    else this.early = (late) => late.failed(reason)
  }
}

// Apart, since a function that makes a closure pays for its context each time.
function hearEarly<T>(early: EarlyAnswer<T>, listener: AnswerListener<T>): void {
  queueMicrotask(() => early(listener))
}

function earlyAnswer<T>(value: T): EarlyAnswer<T> {
  return (listener) => listener.answered(value)
}

/** A listener that throws must not keep the answers of the same reply from the others. */
function tell<T>(listener: AnswerListener<T>, value: T): void {
  try {
    listener.answered(value)
  } catch (error) {
    void Promise.reject(error)
  }
}
