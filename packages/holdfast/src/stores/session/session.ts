/**
 * A session with what it holds. The server knows of one owner of a lock, the session; which of our claims it is, is known
 * here alone, so everything about a session is done in one queue.
 */
import { systemClock, type Timer } from '../../clock/clock.js'
import { StoreUnavailableError } from '../../errors.js'
import type { AttemptResult, Claim, ClaimRef } from '../../store/contract.js'
import type { LockConnection } from './port.js'

/** A claim that holds. */
interface Hold {
  readonly lock: string
  shared: boolean
  readonly ttlMs: number
}

export interface SessionLimits {
  /** The server ends the session when it has heard nothing for so long, in milliseconds. */
  readonly timeoutMs: number
  /** A session that holds nothing is given up when there is no answer for so long, in milliseconds. */
  readonly requestTimeoutMs: number
}

/** The session ended before or while something was asked of it. Nothing is held, and another session may be asked. */
export class SessionEndedError extends StoreUnavailableError {}

export class Session {
  readonly #connection: LockConnection
  readonly #limits: SessionLimits
  readonly #store: string
  readonly #holds = new Map<string, Hold>()
  #tail: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** When the last statement left that was answered. The server counts from a later moment. */
  #heardMs: number
  #silent = false

  constructor(connection: LockConnection, store: string, limits: SessionLimits, openedMs: number) {
    this.#connection = connection
    this.#store = store
    this.#limits = limits
    this.#heardMs = openedMs
  }

  get ended(): boolean {
    return this.#silent || this.#connection.ended
  }

  /** Whether nobody needs it now. */
  get idle(): boolean {
    return this.#holds.size === 0 && this.#waiting === 0
  }

  /** When the server ends it if it hears nothing more, in milliseconds from now. */
  get remainingMs(): number {
    return Math.max(0, this.#heardMs + this.#limits.timeoutMs - systemClock.monotonicMs())
  }

  holds(id: string): boolean {
    return !this.ended && this.#holds.has(id)
  }

  /** @param wanted asked when its turn has come: false for a claim that was withdrawn meanwhile */
  attempt(claim: Claim, wanted: () => boolean): Promise<AttemptResult> {
    const { lock, id, ttlMs } = claim
    const shared = claim.weight < claim.capacity
    return this.#inTurn(async () => {
      if (!wanted()) return { outcome: 'withdrawn' }
      const remainingMs = Math.min(ttlMs, this.remainingMs)
      if (this.#holds.has(id)) return granted(ttlMs, { existing: true, remainingMs })
      // For the server all our claims are the same owner.
      const among = [...this.#holds.values()].filter((hold) => hold.lock === lock)
      const busy = among.length > 0 && (!shared || among.some((hold) => !hold.shared))
      if (busy || !(await this.#ask(() => this.#connection.take(lock, shared)))) {
        return { outcome: 'busy', holderRemainingMs: undefined }
      }
      this.#holds.set(id, { lock, shared, ttlMs })
      return granted(ttlMs, { existing: false, remainingMs: ttlMs })
    })
  }

  /** Resolves to whether it was held until now. */
  withdraw({ id, lock }: ClaimRef): Promise<boolean> {
    return this.#inTurn(async () => {
      const hold = this.#holds.get(id)
      if (!hold || hold.lock !== lock) return false
      await this.#ask(() => this.#connection.drop(lock, hold.shared))
      return this.#holds.delete(id)
    })
  }

  /** Resolves to whether it is held, as a reader from now on. */
  downgrade({ id, lock }: ClaimRef): Promise<boolean> {
    return this.#inTurn(async () => {
      const hold = this.#holds.get(id)
      if (!hold || hold.lock !== lock) return false
      if (hold.shared) return true
      // In this order nobody comes in between.
      await this.#ask(() => this.#connection.take(lock, true))
      hold.shared = true
      await this.#ask(() => this.#connection.drop(lock, false))
      return true
    })
  }

  touch(): Promise<void> {
    return this.#inTurn(() => this.#ask(() => this.#connection.touch()))
  }

  end(): void {
    this.#connection.end()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const turn = this.#tail.then(async () => {
      try {
        if (this.ended) throw this.#endedError()
        return await work()
      } finally {
        this.#waiting -= 1
        if (this.ended) this.#holds.clear()
      }
    })
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /**
   * A statement. When there is no answer for as long as the server would keep a silent session, it is gone one way or
   * another; then our side ends too, and whoever asks next gets a new one.
   */
  async #ask<T>(statement: () => Promise<T>): Promise<T> {
    const sentMs = systemClock.monotonicMs()
    const { timeoutMs, requestTimeoutMs } = this.#limits
    const limitMs = this.#holds.size > 0 ? timeoutMs : Math.min(timeoutMs, requestTimeoutMs)
    let timer: Timer | undefined
    const silence = new Promise<never>((_resolve, reject) => {
      timer = systemClock.timer(limitMs, () => {
        this.#silent = true
        this.#connection.end()
        reject(this.#endedError())
      })
    })
    try {
      const answer = await Promise.race([statement(), silence])
      this.#heardMs = sentMs
      return answer
    } catch (error) {
      throw this.ended ? this.#endedError(error) : error
    } finally {
      timer?.cancel()
    }
  }

  #endedError(cause?: unknown): SessionEndedError {
    const code = cause instanceof StoreUnavailableError ? cause.code : 'STORE_UNAVAILABLE'
    const reason = cause instanceof Error ? `: ${cause.message}` : '.'
    return new SessionEndedError(`The session that holds the locks has ended${reason}`, {
      code: code as 'STORE_UNAVAILABLE',
      store: this.#store,
      cause,
    })
  }
}

function granted(
  ttlMs: number,
  { existing, remainingMs }: { readonly existing: boolean; readonly remainingMs: number },
): AttemptResult {
  return { outcome: 'granted', token: undefined, tokens: 1, ttlMs, existing, remainingMs }
}
