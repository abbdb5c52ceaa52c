/** A limit on the wait for an answer. What was asked goes on by itself: nothing here can take it back. */

/**
 * Settles as `work` does, or rejects with `late()` when that takes longer than `limitMs`. What `work` settles with after
 * that is dropped. A `background` wait does not keep the process alive.
 */
export function inTime<T>(
  work: PromiseLike<T>,
  limitMs: number,
  late: () => Error,
  background = false,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), limitMs)
    if (background) timer.unref()
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
