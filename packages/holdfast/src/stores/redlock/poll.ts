/** Asking all nodes at once, and going on as soon as enough of them have answered. */
import type { Clock } from '../../clock/clock.js'
import type { LockError } from '../../errors.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import { asLockError, silent } from './errors.js'

/** What one node said. Nothing before it has said anything. */
export type Answer<T> = { readonly value: T } | { readonly error: LockError }

export interface PollOptions<T> {
  readonly clock: Clock
  /** How long one node may take, in milliseconds. */
  readonly timeoutMs: number
  /** Whether what is known so far settles the matter. Asked after each answer. */
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

  /** What went wrong, by the place of the node. */
  failures(timeoutMs: number): Map<number, LockError> {
    const failures = new Map<number, LockError>()
    for (const [index, answer] of this.byNode.entries()) {
      if (answer && 'value' in answer) continue
      failures.set(index, answer ? answer.error : silent(timeoutMs))
    }
    return failures
  }
}

/**
 * Resolves when enough is known, when everybody has answered, or when the time is up; never
 * rejects. The requests that are still open go on, and whoever made them deals with what becomes of
 * them.
 */
export function poll<T>(
  calls: readonly MaybePromise<T>[],
  { clock, timeoutMs, enough }: PollOptions<T>,
): Promise<Answers<T>> {
  return new Promise((resolve) => {
    const byNode: (Answer<T> | undefined)[] = calls.map(() => undefined)
    const end = (): void => {
      timer.cancel()
      // A copy: what comes later must not change what was decided upon.
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
