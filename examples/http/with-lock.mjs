/**
 * Handles a request under a lock, where a handler makes a `Response` of a `Request`: Hono, route
 * handlers of Next, Bun, Deno.
 */
import { answerTo } from './lock-answers.mjs'

/**
 * Calls `handle({ lease, signal })` under the lock, and resolves to its response. The lock is
 * released when `handle` has settled, and the body has been sent or the client has disconnected.
 * The signal aborts when the lease is lost or the client disconnects.
 */
export function withLock(lock, request, handle, { waitMs = 0, retryAfterMs } = {}) {
  return new Promise((resolve, reject) => {
    async function work(lease) {
      const signal = AbortSignal.any([lease.signal, request.signal])
      const { response, sent } = untilSent(await handle({ lease, signal }), request.signal)
      resolve(response)
      await sent
    }

    lock.run(work, { waitMs, signal: request.signal }).catch((error) => {
      // Without an effect where the response is on its way: the signal has aborted then.
      const answer = answerTo(error, retryAfterMs)
      if (answer === undefined) reject(error)
      else resolve(new Response(answer.text, answer))
    })
  })
}

/** Returns the response with a body that knows when it has been read to its end, or given up. */
function untilSent(response, clientSignal) {
  if (!response.body) return { response }
  const reader = response.body.getReader()
  let end
  const sent = new Promise((resolve) => (end = resolve))
  const body = new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch((error) => {
          end()
          throw error
        })
        if (!done) return controller.enqueue(value)
        controller.close()
        end()
      },
      cancel(reason) {
        end()
        return reader.cancel(reason)
      },
    },
    // Nothing is read ahead of the connection.
    { highWaterMark: 0 },
  )
  if (clientSignal.aborted) end()
  else clientSignal.addEventListener('abort', end, { once: true })
  return { response: new Response(body, response), sent }
}
