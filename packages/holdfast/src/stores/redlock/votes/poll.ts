/** Asks all nodes at once, and waits until enough of them have answered. */
import type { Clock } from '../../../clock/clock.js'
import type { LockError } from '../../../errors.js'
import type { MaybePromise } from '../../../store/maybe-promise.js'
import { asLockError, noAnswer } from '../errors.js'

/** The answer of one node. Undefined before there is one. */
export type Answer<T> = { readonly value: T } | { readonly error: LockError }

export interface PollOptions<T> {
  readonly clock: Clock
  /** How long one node may take, in milliseconds. */
  readonly timeoutMs: number
  /** Whether the answers so far decide. Called after each answer. */
  readonly enough: (answers: Answers<T>) => boolean
}

export class Answers<T> {
  readonly byNode: readonly (Answer<T> | undefined)[]

  constructor(byNode: readonly (Answer<T> | undefined)[]) {
    this.byNode = byNode
  }

  /** The answers that came, without failures. */
  get values(): T[] {
    return this.byNode.flatMap((answer) => (answer && 'value' in answer ? [answer.value] : []))
  }

  /** How many have not answered yet. */
  get open(): number {
    return this.byNode.filter((answer) => answer === undefined).length
  }

  count(is: (value: T) => boolean): number {
    return this.values.filter(is).length
  }

  /** The failures by the place of the node. */
  failures(timeoutMs: number): Map<number, LockError> {
    const failures = new Map<number, LockError>()
    for (const [index, answer] of this.byNode.entries()) {
      if (answer && 'value' in answer) continue
      failures.set(index, answer ? answer.error : noAnswer(timeoutMs))
    }
    return failures
  }
}

/**
 * Resolves when enough is known, when all nodes have answered, or when the time is up. Never
 * rejects. Requests that are still open continue, and the caller deals with their outcome.
 */
export function poll<T>(
  calls: readonly MaybePromise<T>[],
  { clock, timeoutMs, enough }: PollOptions<T>,
): Promise<Answers<T>> {
  return new Promise((resolve) => {
    const byNode: (Answer<T> | undefined)[] = calls.map(() => undefined)
    const end = (): void => {
      timer.cancel()
      // A copy: later answers must not change what was decided.
      resolve(new Answers([...byNode]))
    }
    const timer = clock.timer(timeoutMs, end)
    const take = (index: number, answer: Answer<T>): void => {
      byNode[index] = answer
      const answers = new Answers(byNode)
      if (answers.open === 0 || enough(answers)) end()
    }
    for (const [index, call] of calls.entries()) {
      Promise.resolve(call).then(
        (value) => take(index, { value }),
        (error: unknown) => take(index, { error: asLockError(error) }),
      )
    }
  })
}
