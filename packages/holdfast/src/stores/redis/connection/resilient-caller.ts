/**
 * Calls through the client of the caller that always end, with an answer or an error.
 *
 * Client libraries keep commands while there is no connection, some of them forever. Here a call
 * waits for a connection that was lost a moment ago, since it may well come back. It does not wait
 * for one that never was. A call that was in flight when the connection broke is sent again when it
 * is back: every verb may be repeated.
 */
import { systemClock, type Clock, type Timer } from '../../../clock/clock.js'
import { LockUsageError, type LockError } from '../../../errors.js'
import { storeClosed } from '../../../store/errors.js'
import { LinkedSet } from '../../../collections/linked-set.js'
import { afterSuccess, explain, isServerError, isUnknownScript, STORE_NAME } from '../errors.js'
import type { ScriptForm, Transport } from './transports/transport.js'

/** How long a connection that was good may be away before calls fail, by default. */
const ABSENCE_MS = 2500
/** How often a call is sent again when connections break under it. */
const RESENDS = 3
/** How often to look for calls that have had no answer for too long. */
const SWEEPS_PER_TIMEOUT = 4

/** Hears how a call ended. */
export interface ReplyListener<T = unknown> {
  /** Called once. The error is undefined when there is a reply. */
  done(error: LockError | undefined, reply?: T): void
}

interface OpenCall {
  readonly sentMs: number
  readonly listener: ReplyListener<never>
}

interface Resendable<A extends readonly unknown[], T> {
  readonly send: (by: ScriptForm, ...args: A) => Promise<T>
  readonly args: A
  /** Its entry, taken as long as the caller waits for an answer. */
  readonly entry: { readonly taken: boolean }
  /** How often the connection had been lost when the call was sent first. */
  readonly losses: number
}

export interface ResilientCallerSettings {
  readonly clock?: Clock
  readonly absenceMs?: number
  /** Called at each end of a connection, also of one that the library replaces by itself. */
  readonly onLost?: () => void
}

export class ResilientCaller {
  readonly #transport: Transport
  readonly #requestTimeoutMs: number
  readonly #clock: Clock
  readonly #absenceMs: number
  readonly #reportLost: (() => void) | undefined
  readonly #stopWatching: () => void
  readonly #calls = new LinkedSet<OpenCall>()
  readonly #readyWaiters = new Set<() => void>()
  #wasReady: boolean
  /** Whether there ever was a connection. */
  #hasBeenReady: boolean
  /** Whether the server has answered a call. A connection without a login counts as ready, too. */
  #hasAnswered = false
  /** Why there is no connection, once there has been none for too long. */
  #down: LockError | undefined
  #lastError: unknown
  #losses = 0
  #absence: Timer | undefined
  #sweep: Timer | undefined
  #closed: LockError | undefined

  /**
   * @param settings `absenceMs`: how long a connection that was good may be away before calls fail
   */
  constructor(
    transport: Transport,
    requestTimeoutMs: number,
    settings: ResilientCallerSettings = {},
  ) {
    const { clock = systemClock, absenceMs = ABSENCE_MS, onLost } = settings
    this.#transport = transport
    this.#clock = clock
    this.#requestTimeoutMs = requestTimeoutMs
    this.#absenceMs = absenceMs
    this.#reportLost = onLost
    this.#wasReady = this.#hasBeenReady = transport.isReady
    this.#stopWatching = transport.watchState({
      ready: () => this.#onReady(),
      lost: (error) => this.#onLost(error),
      broken: () => {
        this.#losses += 1
        this.#reportLost?.()
      },
    })
  }

  /**
   * Calls the server. Rejects with a typed error, at the latest after the timeout.
   * @param send sends the call; with the script in full when the server does not know it yet
   * @param args what `send` takes besides
   */
  call<A extends readonly unknown[], T>(
    send: (by: ScriptForm, ...args: A) => Promise<T>,
    ...args: A
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const done = (error: LockError | undefined, reply?: T): void => {
        if (error === undefined) resolve(reply as T)
        else reject(error)
      }
      this.send(send, { done }, ...args)
    })
  }

  /** Likewise, for a listener. */
  send<A extends readonly unknown[], T>(
    send: (by: ScriptForm, ...args: A) => Promise<T>,
    listener: ReplyListener<T>,
    ...args: A
  ): void {
    const refusal = this.#closed ?? (this.#down && this.#refusal())
    if (refusal) {
      listener.done(refusal)
      return
    }
    const entry = this.#calls.add({ sentMs: this.#clock.monotonicMs(), listener })
    this.#sweep ??= this.#startSweep()
    const finish = (reply: T): void => {
      this.#hasAnswered = true
      if (this.#calls.delete(entry)) listener.done(undefined, reply)
    }
    const losses = this.#losses
    // Nearly every call succeeds: what is done about the others is kept out of its way.
    send('hash', ...args).then(finish, (error: unknown) => {
      this.#sendAgain({ send, args, entry, losses }, error).then(finish, (last: unknown) => {
        if (this.#calls.delete(entry)) listener.done(this.#explain(last))
      })
    })
  }

  /**
   * Rejects the calls in flight. The client itself stays open: it is the caller's.
   * @param error what they reject with
   */
  close(error: LockError = closedError()): void {
    if (this.#closed) return
    this.#closed = error
    this.#stopWatching()
    this.#absence?.cancel()
    this.#sweep?.cancel()
    this.#failAll(error)
    this.#wakeWaiters()
  }

  async #sendAgain<A extends readonly unknown[], T>(
    { send, args, entry, losses }: Resendable<A, T>,
    error: unknown,
  ): Promise<T> {
    let failure = error
    let form: ScriptForm = 'hash'
    for (let resends = 0; resends < RESENDS; resends += 1) {
      if (isUnknownScript(failure)) {
        // The server restarted, or got SCRIPT FLUSH. It answers so before anything is done.
        form = 'source'
      } else {
        // Before the first connection nothing can have been in flight: the error says what is
        // wrong.
        if (!this.#wasReady || isServerError(failure)) break
        // A client that gave up on a silent server would not fare better with the same again.
        if (this.#transport.isReady && this.#losses === losses) break
        if (!this.#transport.isReady) await this.#readyAgain()
        // A call that has ended must not arrive after what its caller has done since.
        if (this.#refusal() || !entry.taken) break
      }
      try {
        return await send(form, ...args)
      } catch (again) {
        failure = again
      }
    }
    throw failure
  }

  #refusal(): LockError | undefined {
    if (this.#closed) return this.#closed
    // Not every library reports when it is ready again.
    if (this.#down && this.#transport.isReady) this.#onReady()
    return this.#down
  }

  /** Resolves when the connection is back, or is given up. */
  #readyAgain(): Promise<void> {
    return new Promise((resolve) => {
      this.#readyWaiters.add(resolve)
      this.#onLost()
    })
  }

  #onReady(): void {
    this.#wasReady = this.#hasBeenReady = true
    this.#down = undefined
    this.#lastError = undefined
    this.#absence?.cancel()
    this.#absence = undefined
    this.#wakeWaiters()
  }

  #onLost(error?: unknown): void {
    if (error !== undefined) this.#lastError = error
    if (this.#transport.isReady || this.#closed) return
    this.#losses += 1
    this.#reportLost?.()
    if (this.#down || !this.#wasReady || this.#isClientClosed) this.#giveUp()
    else this.#absence ??= this.#clock.timer(this.#absenceMs, () => this.#giveUp(), true)
  }

  #giveUp(): void {
    this.#absence = undefined
    const error = this.#explain(this.#lastError ?? new Error('The connection is closed'))
    this.#down = error
    this.#wasReady = false
    this.#failAll(error)
    this.#wakeWaiters()
  }

  #explain(error: unknown): LockError {
    if (this.#isClientClosed) return clientClosed()
    const explained = explain(error)
    return this.#hasAnswered ? afterSuccess(explained) : explained
  }

  /** A client that was never connected may still be. */
  get #isClientClosed(): boolean {
    return this.#hasBeenReady && this.#transport.isClosed === true
  }

  #wakeWaiters(): void {
    for (const wake of this.#readyWaiters) wake()
    this.#readyWaiters.clear()
  }

  #failAll(error: LockError): void {
    for (let call = this.#calls.shift(); call; call = this.#calls.shift()) call.listener.done(error)
  }

  /** A server that is stopped, or a network that swallows everything, breaks no connection. */
  #startSweep(delayMs = this.#requestTimeoutMs / SWEEPS_PER_TIMEOUT): Timer {
    return this.#clock.timer(delayMs, () => this.#sweepUp(), true)
  }

  #sweepUp(): void {
    const timeoutMs = this.#requestTimeoutMs
    const nowMs = this.#clock.monotonicMs()
    for (let call = this.#calls.first; call; call = this.#calls.first) {
      const leftMs = call.value.sentMs + timeoutMs - nowMs
      if (leftMs > 0 && !this.#closed) {
        // No later than the timeout of the oldest call, which may lie before the next sweep.
        this.#sweep = this.#startSweep(Math.min(leftMs, timeoutMs / SWEEPS_PER_TIMEOUT))
        return
      }
      this.#calls.delete(call)
      call.value.listener.done(explain(new Error(`No answer within ${timeoutMs} ms`)))
    }
    this.#sweep = undefined
  }
}

/** Returns the error for a client that was closed before the store. */
function clientClosed(): LockError {
  return new LockUsageError(
    'The Redis client was closed, or has given up. Close the locks before their client: ' +
      'await locks.close(), then end the client.',
    { code: 'LOCKS_CLOSED', store: STORE_NAME },
  )
}

export function closedError(): LockError {
  return storeClosed(STORE_NAME)
}
