/** The sessions of a store: one for each length, shared by all claims that need this length. */
import { systemClock } from '../../clock/clock.js'
import { StoreUnavailableError } from '../../errors.js'
import type { LockConnection, SessionPort } from './port.js'
import { Session } from './session.js'

/**
 * Opening takes several questions, and some seconds where a pooler is looked for in vain: the limit of one request would be
 * too little for it. In milliseconds.
 */
const OPEN_LIMIT_MS = 5000

export class Sessions {
  readonly #port: SessionPort
  readonly #requestTimeoutMs: number
  readonly #open = new Map<number, Session>()
  readonly #opening = new Map<number, Promise<Session>>()
  #closed = false

  constructor(port: SessionPort, requestTimeoutMs: number) {
    this.#port = port
    this.#requestTimeoutMs = requestTimeoutMs
  }

  /** The session for leases of `ttlMs`, opened where there is none. */
  ready(ttlMs: number): Promise<Session> {
    const { stepMs } = this.#port
    const timeoutMs = Math.max(1, Math.ceil(ttlMs / stepMs)) * stepMs
    const session = this.#open.get(timeoutMs)
    if (session && !session.ended) return Promise.resolve(session)
    let opening = this.#opening.get(timeoutMs)
    if (!opening) {
      opening = this.#connect(timeoutMs).finally(() => this.#opening.delete(timeoutMs))
      this.#opening.set(timeoutMs, opening)
    }
    return opening
  }

  /** Sessions that hold something are left to run out: nothing is released under code that runs. */
  close(): void {
    this.#closed = true
    for (const session of this.#open.values()) {
      if (session.idle) session.end()
      else systemClock.timer(session.remainingMs, () => session.end(), true)
    }
  }

  async #connect(timeoutMs: number): Promise<Session> {
    const openedMs = systemClock.monotonicMs()
    const connection = await this.#opened(timeoutMs)
    const limits = { timeoutMs, requestTimeoutMs: this.#requestTimeoutMs }
    const session = new Session(connection, this.#port.name, limits, openedMs)
    if (this.#closed) {
      session.end()
      throw new StoreUnavailableError('The store was closed.', { store: this.#port.name })
    }
    this.#open.set(timeoutMs, session)
    this.#restWhenIdle(timeoutMs, session)
    return session
  }

  /** An answer that was lost would else keep everybody waiting for this one connection, for as long as it is silent. */
  #opened(timeoutMs: number): Promise<LockConnection> {
    const limitMs = Math.max(this.#requestTimeoutMs, OPEN_LIMIT_MS)
    const givenUp = new AbortController()
    return new Promise((resolve, reject) => {
      const timer = systemClock.timer(limitMs, () => {
        const text = `The database did not open a session for locks within ${limitMs} ms. The next attempt tries it anew.`
        reject(new StoreUnavailableError(text, { store: this.#port.name }))
        givenUp.abort()
      })
      const opening = this.#port.open(timeoutMs, givenUp.signal).finally(() => timer.cancel())
      opening.then(resolve, reject)
    })
  }

  /** Nobody needs it any more: ended by us before the server does so and writes of it in its log. */
  #restWhenIdle(timeoutMs: number, session: Session): void {
    const timer = setInterval(() => {
      if (session.idle && session.remainingMs <= timeoutMs / 2) session.end()
      if (!session.ended) return
      clearInterval(timer)
      if (this.#open.get(timeoutMs) === session) this.#open.delete(timeoutMs)
    }, timeoutMs / 4)
    timer.unref()
  }
}
