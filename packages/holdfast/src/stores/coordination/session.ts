/**
 * Sessions: what claims live on. One for each length, shared by all claims that need this length.
 *
 * Nothing here sets a timer. A session is kept alive by what the runtime does anyway: by renewals,
 * and by the attempts of waiters. Without holders and waiters it ends by itself, and the next claim
 * opens another.
 */
import type { Clock } from '../../clock/clock.js'
import { invariant } from '../../invariant.js'
import type { Exactness, ServiceSession, CoordinationService } from './service.js'

export class Session<S extends ServiceSession = ServiceSession> {
  readonly handle: S
  /** How long it lives unheard of. */
  readonly timeoutMs: number
  readonly #clock: Clock
  readonly #heard: () => void
  #lost = false
  /**
   * When the last request that was acknowledged left, on both clocks: the monotonic one stands
   * still in a suspend.
   */
  #heardMs: number
  #heardWallMs: number
  #latest: { sentMs: number; answer: Promise<boolean> } | undefined

  /**
   * @param openedMs when the request that opened it left
   * @param heard called at every sign of life
   */
  constructor(handle: S, timeoutMs: number, clock: Clock, openedMs: number, heard: () => void) {
    this.handle = handle
    this.timeoutMs = timeoutMs
    this.#clock = clock
    this.#heard = heard
    this.#heardMs = openedMs
    this.#heardWallMs = clock.wallMs() - (clock.monotonicMs() - openedMs)
  }

  /** It is gone for good, and all its entries with it. */
  get lost(): boolean {
    return this.#lost
  }

  markLost(): void {
    this.#lost = true
  }

  /** Whether it may be over already, as far as is known here. */
  get doubtful(): boolean {
    return this.#lost || this.#silentMs() >= this.timeoutMs
  }

  /**
   * Resolves to true when it is certain that it lives for `ttlMs` from now on; to false when it is
   * gone.
   */
  async assure(ttlMs: number): Promise<boolean> {
    if (this.#lost) return false
    const spareMs = this.timeoutMs - ttlMs
    if (this.#silentMs() <= spareMs) return true
    const latest = this.#latest
    if (latest && this.#clock.monotonicMs() - latest.sentMs <= spareMs) return latest.answer
    return this.keepAlive()
  }

  /** Sends a sign of life now. Rejects with a `LockError` when no answer comes. */
  async keepAlive(): Promise<boolean> {
    if (this.#lost) return false
    const sentMs = this.#clock.monotonicMs()
    const sentWallMs = this.#clock.wallMs()
    const answer = this.handle.keepAlive().then((alive) => {
      if (!alive) this.#lost = true
      else if (sentMs > this.#heardMs) {
        this.#heardMs = sentMs
        this.#heardWallMs = sentWallMs
      }
      return alive
    })
    this.#latest = { sentMs, answer }
    const alive = await answer
    if (alive) this.#heard()
    return alive
  }

  #silentMs(): number {
    const monotonicMs = this.#clock.monotonicMs() - this.#heardMs
    return Math.max(monotonicMs, Math.abs(this.#clock.wallMs() - this.#heardWallMs))
  }
}

/** A session with this much more than the TTL of its leases need not be heard of at every grant. */
const SPARE_MS = 1000

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
    return session && !session.doubtful ? session : undefined
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
      if (!session.doubtful) return session
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
    const openedMs = this.#clock.monotonicMs()
    const handle = await this.#service.openSession(timeoutMs, exactness)
    const grantedMs = handle.timeoutMs
    invariant(grantedMs >= timeoutMs, 'a session is no shorter than it was asked for')
    if (grantedMs > timeoutMs) this.#shortestMs = grantedMs
    const promisedMs = grantedMs - this.#service.graceMs
    const session = new Session(handle, promisedMs, this.#clock, openedMs, this.#heard)
    this.#open.set(grantedMs, session)
    return session
  }
}
