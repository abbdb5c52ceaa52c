/**
 * One after the other in each transaction: what is made of several statements must not be taken
 * apart by its like.
 */

const tails = new WeakMap<object, Promise<unknown>>()

/**
 * Runs `work` when what was begun before in the same transaction has ended. A savepoint that is
 * rolled back takes with it whatever was done since it was made, such as the lock of another call
 * beside it; and a limit of the connection that two set at once is not put back to what it was.
 */
export function inTurn<T>(tx: object, work: () => Promise<T>): Promise<T> {
  const turn = (tails.get(tx) ?? Promise.resolve()).then(work)
  tails.set(
    tx,
    turn.catch(() => undefined), // told to whoever asked for it
  )
  return turn
}
