/**
 * Transactions whose connection ends, through `postgres` (postgres.js). The library rejects the
 * transaction at once, while its work continues. Anything sent on that connection afterwards ends
 * the process: a statement, and also the COMMIT or ROLLBACK that the library sends when the work
 * ends. So the library never learns of that end, and sends nothing.
 */
import { setImmediate as afterTick } from 'node:timers/promises'
import { Access, accessOf, revocableHandle } from './revocable-handle.js'

/** In a box, since the library awaits the elements of a list that is returned. */
interface Box<T> {
  readonly result: T
}

/**
 * Runs `work` in a transaction that `begin` makes, or in a savepoint of the transaction `outer`.
 * The handle that `work` gets refuses statements when the work has ended or the library has called
 * the transaction failed.
 * @returns what `work` does, or rejects as soon as the library does
 */
export function runUntilTransactionEnds<Tx extends object, T>(
  begin: (boxed: (tx: Tx) => Promise<Box<T>>) => Promise<unknown>,
  work: (tx: Tx) => Promise<T>,
  outer?: object,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const access = (outer && accessOf(outer)) ?? new Access()
    const boxed = async (tx: Tx): Promise<Box<T>> => {
      const working = work(revocableHandle(tx, access))
      await Promise.allSettled([working])
      // When the connection breaks, statements in flight fail first, and the transaction fails one
      // tick later.
      await afterTick()
      await afterTick()
      if (!access.refusal) {
        if (!outer) access.end()
        return { result: await working }
      }
      working.then(() => reject(connectionEnded()), reject)
      return new Promise<never>(() => undefined)
    }
    begin(boxed).then(
      (box) => resolve((box as Box<T>).result),
      (error: Error) => {
        if (!outer) access.end(connectionEnded)
        reject(error)
      },
    )
  })
}

function connectionEnded(): Error {
  return new Error('The connection of this transaction has ended, and the transaction with it.')
}
