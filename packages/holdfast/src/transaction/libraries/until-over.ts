/**
 * Transactions of `postgres` (postgres.js) whose connection ends. The library calls the transaction failed at once, while
 * its work goes on. What is sent on that connection afterwards ends the process: a statement, and also the COMMIT or
 * ROLLBACK that the library itself sends when the work ends. So the library never hears of that end, and nothing is sent.
 */
import { setImmediate as turn } from 'node:timers/promises'

/** Transactions that the library has called failed. */
const over = new WeakSet<object>()

/** In a box, since the library awaits the elements of a list that is returned. */
interface Box<T> {
  readonly result: T
}

/**
 * Runs `work` in a transaction that `begin` makes, or in a savepoint of the transaction `outer`.
 * @returns what `work` does, or rejects as soon as the library does
 */
export function untilOver<Tx extends object, T>(
  begin: (boxed: (tx: Tx) => Promise<Box<T>>) => Promise<unknown>,
  work: (tx: Tx) => Promise<T>,
  outer?: object,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let root = outer
    const boxed = async (tx: Tx): Promise<Box<T>> => {
      root ??= tx
      const working = work(tx)
      await Promise.allSettled([working])
      // What was under way fails when the connection breaks, and the transaction a turn of the event loop later.
      await turn()
      await turn()
      if (!over.has(root)) return { result: await working }
      working.then(() => reject(connectionEnded()), reject)
      return new Promise<never>(() => undefined)
    }
    begin(boxed).then(
      (box) => resolve((box as Box<T>).result),
      (error: Error) => {
        if (outer === undefined && root) over.add(root)
        reject(error)
      },
    )
  })
}

/** @throws Error in place of what would end the process. */
export function checkNotOver(tx: object): void {
  if (over.has(tx)) throw connectionEnded()
}

function connectionEnded(): Error {
  return new Error('The connection of this transaction has ended, and the transaction with it.')
}
