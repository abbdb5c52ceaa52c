/**
 * Sessions: what claims live on. One for each length, shared by all claims that need this length.
 *
 * Nothing here sets a timer. A session is kept alive by what the runtime does anyway: by renewals,
 * and by the attempts of waiters. Without holders and waiters it ends by itself, and the next claim
 * opens another.
 */
import type { Clock } from '../../clock/clock.js'
import { invariant } from '../../invariant.js'
import { elapsedMs, momentOf, type Moment } from './connection/moment.js'
import type { Exactness, ServiceSession, CoordinationService } from './connection/service.js'

/** A session with this much more than the TTL of its leases need not be heard of at every grant. */
const SPARE_MS = 1000
/** A sign of life is asked to last this much longer, for other callers that come meanwhile. */
const SHARED_MS = 50

interface SentSign {
  readonly oldestMs: number
  readonly answer: Promise<boolean>
}

export class Session<S extends ServiceSession = ServiceSession> {
  readonly handle: S
  /** How long it lives from the moment at which the service has heard of it. */
  readonly timeoutMs: number
  /** The TTL of its longest leases. */
  readonly #longestMs: number
  readonly #clock: Clock
  readonly #heard: () => void
  #lost = false
  /** The latest moment at which the service has certainly heard of it. */
  #heardAt: Moment
  #latest: SentSign | undefined

  /**
   * @param openedAt when the request that opened it left
   * @param heard called at every sign of life
   */
  constructor(handle: S, graceMs: number, clock: Clock, openedAt: Moment, heard: () => void) {
    this.handle = handle
    this.timeoutMs = handle.timeoutMs
    this.#longestMs = handle.timeoutMs - graceMs - SPARE_MS
    this.#clock = clock
    this.#heardAt = openedAt
    this.#heard = heard
  }

  /** It is gone for good, and all its entries with it. */
  get lost(): boolean {
    return this.#lost
  }

  markLost(): void {
    this.#lost = true
  }

  /** It may be over already, as far as is known here. */
  get inDoubt(): boolean {
    return this.#lost || this.#leftMs(momentOf(this.#clock)) <= 0
  }

  /**
   * Resolves to how long it certainly lives from now on, `ttlMs` at most; to 0 when it is gone.
   * @param leastMs what the caller needs: a sign of life that promises less is sent again
   */
  async assure(ttlMs: number, leastMs = ttlMs): Promise<number> {
    if (this.#lost) return 0
    const now = momentOf(this.#clock)
    if (this.#leftMs(now) < ttlMs && !(await this.#assure(now, leastMs))) return 0
    return Math.min(ttlMs, this.#leftMs(now))
  }

  /**
   * Sends a sign of life. Resolves to true when it certainly lives from now on for as long as its
   * leases last. Rejects with a `LockError` when no answer comes.
   */
  async keepAlive(): Promise<boolean> {
    if (this.#lost) return false
    const now = momentOf(this.#clock)
    return this.#assure(now, this.#longestMs)
  }

  async #assure(now: Moment, leastMs: number): Promise<boolean> {
    let oldestMs = now.monotonicMs + leastMs - this.timeoutMs
    do {
      const latest = this.#latest
      const sign = latest && latest.oldestMs >= oldestMs ? latest : this.#send(now, oldestMs)
      if (!(await sign.answer)) return false
      // The machine has slept since the moment that was heard of: only a later one will do.
      oldestMs = now.monotonicMs
    } while (this.#leftMs(now) < leastMs)
    return true
  }

  #send(now: Moment, neededMs: number): SentSign {
    const oldestMs = Math.min(neededMs + SHARED_MS, now.monotonicMs)
    const sign = { oldestMs, answer: this.#ask(now, oldestMs) }
    this.#latest = sign
    const forget = (): void => {
      if (this.#latest === sign) this.#latest = undefined
    }
    sign.answer.then(forget, forget)
    return sign
  }

  async #ask(now: Moment, oldestMs: number): Promise<boolean> {
    const heardAt = await this.handle.keepAlive(now, oldestMs)
    if (!heardAt) {
      this.#lost = true
      return false
    }
    if (heardAt.monotonicMs > this.#heardAt.monotonicMs) this.#heardAt = heardAt
    this.#heard()
    return true
  }

  #leftMs(now: Moment): number {
    const isLater = this.#heardAt.monotonicMs >= now.monotonicMs
    return isLater ? this.timeoutMs : this.timeoutMs - elapsedMs(this.#heardAt, now)
  }
}

export class Sessions<S extends ServiceSession> {
  readonly #service: CoordinationService<S>
  readonly #clock: Clock
  readonly #heard: () => void
  /** By the timeout that was granted. */
  readonly #open = new Map<number, Session<S>>()
  readonly #opening = new Map<number, Promise<Session<S>>>()
  /**
   * The shortest session that the service grants, once it has shown that it grants none so short as
   * was asked for.
   */
  #shortestMs = 0

  constructor(service: CoordinationService<S>, clock: Clock, heard: () => void) {
    this.#service = service
    this.#clock = clock
    this.#heard = heard
  }

  /** The session for waiters, if it is open and not in doubt. */
  currentToWait(ttlMs: number): Session<S> | undefined {
    const session = this.#open.get(this.#timeoutToWait(ttlMs))
    return session && !session.inDoubt ? session : undefined
  }

  /**
   * The same, opened where there is none. A longer one will do: dead waiters are only passed over
   * later.
   */
  readyToWait(ttlMs: number): Promise<Session<S>> {
    return this.#ready(this.#timeoutToWait(ttlMs), 'or longer')
  }

  /** The session for leases of `ttlMs`. */
  ready(ttlMs: number): Promise<Session<S>> {
    return this.#ready(this.#timeoutFor(ttlMs), 'exact')
  }

  all(): Session<S>[] {
    return [...this.#open.values()]
  }

  async #ready(timeoutMs: number, exactness: Exactness): Promise<Session<S>> {
    const session = this.#open.get(timeoutMs)
    if (session) {
      if (!session.inDoubt) return session
      // It may have outlived the silence. If not, its claims learn of it, and another takes its
      // place.
      if (await session.keepAlive()) return session
      if (this.#open.get(timeoutMs) === session) this.#open.delete(timeoutMs)
    }
    let opening = this.#opening.get(timeoutMs)
    if (!opening) {
      opening = this.#openOne(timeoutMs, exactness).finally(() => this.#opening.delete(timeoutMs))
      this.#opening.set(timeoutMs, opening)
    }
    const opened = await opening
    const fits = exactness === 'or longer' || opened.handle.timeoutMs === timeoutMs
    // A waiter opened it, and got a longer one. For a lease it is requested again, and refused.
    return fits ? opened : this.#ready(timeoutMs, exactness)
  }

  /**
   * Whole seconds, so that locks of nearly equal TTLs share a session, and services that count in
   * seconds can grant it.
   */
  #timeoutFor(ttlMs: number): number {
    return Math.ceil((ttlMs + this.#service.graceMs) / 1000) * 1000 + SPARE_MS
  }

  #timeoutToWait(ttlMs: number): number {
    return Math.max(this.#timeoutFor(ttlMs), this.#shortestMs)
  }

  async #openOne(timeoutMs: number, exactness: Exactness): Promise<Session<S>> {
    const openedAt = momentOf(this.#clock)
    const handle = await this.#service.openSession(timeoutMs, exactness)
    const grantedMs = handle.timeoutMs
    invariant(grantedMs >= timeoutMs, 'a session is no shorter than it was asked for')
    if (grantedMs > timeoutMs) this.#shortestMs = grantedMs
    const { graceMs } = this.#service
    const session = new Session(handle, graceMs, this.#clock, openedAt, this.#heard)
    this.#open.set(grantedMs, session)
    return session
  }
}
