/** Handlers of Express 5 under a lock. */
import { answerTo } from './lock-answers.mjs'

/**
 * Returns a handler that calls `handle(req, res, { lease, signal })` under a mutex. The lock is
 * released when `handle` has settled, and the response has finished or its connection is gone. The
 * signal aborts when the lease is lost or the client disconnects.
 *
 * A middleware would not do: `next()` of Express does not return when the handlers have settled.
 * @param nameOf returns the name of the mutex for a request
 */
export function locked(locks, nameOf, handle, { waitMs = 0, retryAfterMs } = {}) {
  return async (req, res, next) => {
    const { over, disconnected } = watchResponse(req, res)
    async function work(lease) {
      const signal = AbortSignal.any([lease.signal, disconnected])
      try {
        await handle(req, res, { lease, signal })
      } catch (error) {
        next(error) // answered under the lock
      }
      await over
    }

    try {
      await locks.mutex(nameOf(req)).run(work, { waitMs, signal: disconnected })
    } catch (error) {
      // The client has gone, or the lease was lost: the signal has aborted.
      if (disconnected.aborted || res.headersSent) return
      const answer = answerTo(error, retryAfterMs)
      if (answer === undefined) next(error)
      else res.status(answer.status).set(answer.headers).send(answer.text)
    }
  }
}

/** Returns when the response is over, and a signal that aborts when its client disconnects. */
function watchResponse(req, res) {
  const controller = new AbortController()
  const over = new Promise((resolve) => {
    // `close` of the request says nothing: in a POST it comes when the body has been read.
    function end() {
      if (!res.writableEnded) controller.abort(new Error('The client disconnected.'))
      resolve()
    }
    res.once('finish', end).once('close', end)
    // A pipelined request whose turn has not come: its response emits nothing (Node 20).
    if (!res.socket) req.socket.once('close', end)
    if (res.closed || req.socket.destroyed) end()
  })
  return { over, disconnected: controller.signal }
}
