/**
 * How far a request has come: whether its handler has settled, and its response is over.
 *
 * An async handler settles with its promise. A handler with callbacks settles when it has sent a
 * reply, since its return says nothing. A hook may reply instead of the handler, or be at work when
 * the client leaves: the handler then still starts.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { whenResponseOver, type ResponseOutcome } from './response-end.js'

type HandlerState = 'not started' | 'running' | 'returned' | 'settled'

/** Listens to the progress of one request. */
export interface ProgressListener {
  /** The response is over. The handler may still work. */
  onResponseOver(outcome: ResponseOutcome): void
  /** Nothing works on the request any more. */
  onOver(): void
}

export class RequestProgress {
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  #handler: HandlerState = 'not started'
  #hasReplied = false
  #listener: ProgressListener | undefined
  #isResponseOver = false
  #isOver = false

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#request = request
    this.#reply = reply
  }

  /** Begins to watch the response. A request without a lock has no listener. */
  listen(listener: ProgressListener): void {
    this.#listener = listener
    whenResponseOver(this.#request.raw, this.#reply.raw, (outcome) => {
      this.#isResponseOver = true
      listener.onResponseOver(outcome)
      this.#look()
    })
  }

  /** Calls the handler, and notes when it settles. Returns what Fastify gets for its result. */
  follow(handler: () => unknown): unknown {
    this.#handler = 'running'
    try {
      return this.#followResult(handler())
    } catch (error) {
      this.#become('settled')
      throw error
    }
  }

  #followResult(result: unknown): unknown {
    if (!isThenable(result)) {
      this.#become('returned')
      return result
    }
    // Each `then` of a query builder, such as that of Knex, sends its query: one for both of us.
    const isPlain = result instanceof Promise || Object.is(result, this.#reply)
    const promise = isPlain ? result : Promise.resolve(result)
    void promise.then(this.#settle, this.#settle)
    return promise
  }

  noteReply(): void {
    this.#hasReplied = true
    this.#look()
  }

  readonly #settle = (): void => this.#become('settled')

  #become(state: HandlerState): void {
    this.#handler = state
    this.#look()
  }

  #look(): void {
    if (this.#isOver || !this.#listener || !this.#isResponseOver || this.#isWorking) return
    this.#isOver = true
    this.#listener.onOver()
  }

  get #isWorking(): boolean {
    if (this.#handler === 'running') return true
    // `sent` is true of a hijacked reply, of which Fastify hears nothing more.
    return this.#handler !== 'settled' && !this.#hasReplied && !this.#reply.sent
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function'
}
