/**
 * When a response is over: it has finished, or its connection is gone.
 *
 * No single event of Node says that:
 *
 * - `close` of a request comes after its body, in a POST long before the response.
 * - Over HTTP/2 a response emits `finish` also when its client reset the stream.
 * - A pipelined request whose turn has not come has a response without a socket, which emits
 *   nothing in Node 20 when the connection ends. Only the socket knows.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'

type RawRequest = IncomingMessage | Http2ServerRequest
type RawResponse = ServerResponse | Http2ServerResponse

/** Whether the handler had ended the response, or its client left before. */
export type ResponseOutcome = 'ended' | 'disconnected'

/**
 * Calls `onOver` once, when the response has finished or its connection is gone. Calls it at once
 * when that has happened.
 */
export function whenResponseOver(
  request: RawRequest,
  response: RawResponse,
  onOver: (outcome: ResponseOutcome) => void,
): void {
  const isHttp2 = 'stream' in response
  const stream = isHttp2 ? response.stream : response
  const socket = isHttp2 ? undefined : request.socket
  const isFinished = (): boolean => response.writableEnded && stream.writableFinished
  const stops: (() => void)[] = []
  const end = (): void => {
    for (const stop of stops) stop()
    onOver(response.writableEnded ? 'ended' : 'disconnected')
  }
  if (isFinished() || stream.destroyed || socket?.destroyed === true) {
    end()
    return
  }
  const endWhenFinished = (): void => {
    if (isFinished()) end()
  }
  stream.on('finish', endWhenFinished)
  stream.on('close', end)
  stops.push(() => {
    stream.off('finish', endWhenFinished)
    stream.off('close', end)
  })
  if (socket) stops.push(onceClosed(socket, end))
}

const watched = new WeakMap<Socket, Set<() => void>>()

/** Calls `listener` when the socket closes. One socket may carry hundreds of pipelined requests. */
function onceClosed(socket: Socket, listener: () => void): () => void {
  const known = watched.get(socket)
  const listeners = known ?? new Set()
  if (!known) {
    watched.set(socket, listeners)
    socket.once('close', () => {
      for (const one of listeners) one()
    })
  }
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
