/** A middleware for Hono: the rest of the chain runs under a lock. */
import { withLock } from './with-lock.mjs'

/**
 * Sets `c.var.lease`, and `c.var.signal`, which aborts when the lease is lost or the client
 * disconnects.
 * @param nameOf returns the name of the mutex for a context
 */
export function lockFor(locks, nameOf, options) {
  return async (c, next) => {
    const response = await withLock(
      locks.mutex(nameOf(c)),
      c.req.raw,
      async ({ lease, signal }) => {
        c.set('lease', lease)
        c.set('signal', signal)
        await next()
        return c.res
      },
      options,
    )
    // Hono merges the headers of a response into the next one, unless it is removed first.
    c.res = undefined
    c.res = response
  }
}
