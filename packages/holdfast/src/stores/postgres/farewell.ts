/** Ending what may not answer any more. */

/** A goodbye takes no longer, in milliseconds. */
const FAREWELL_MS = 200

/** Resolves when `goodbye` has ended one way or another, or is not worth waiting for any more: then `tear` is called. */
export function farewell(goodbye: PromiseLike<unknown> | undefined, tear?: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      tear?.()
      resolve()
    }, FAREWELL_MS)
    const over = (): void => {
      clearTimeout(timer)
      resolve()
    }
    Promise.resolve(goodbye).then(over, over) // it is broken, or ended already
  })
}
