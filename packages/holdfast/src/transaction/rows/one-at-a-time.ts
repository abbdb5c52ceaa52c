/** Runs operations of several statements one after the other in each transaction. */

const tails = new WeakMap<object, Promise<unknown>>()

/**
 * Runs `work` after all earlier operations of the same transaction. Side by side, a rollback to a
 * savepoint would also undo the lock of another call. Two changes of a limit of the connection
 * would not restore it.
 */
export function oneAtATime<T>(tx: object, work: () => Promise<T>): Promise<T> {
  const turn = (tails.get(tx) ?? Promise.resolve()).then(work)
  tails.set(
    tx,
    turn.catch(() => undefined), // the caller gets the error
  )
  return turn
}
