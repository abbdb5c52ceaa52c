/**
 * A store over locks that belong to a session of the database: `pg_advisory_lock` and `GET_LOCK`. It needs no table. The
 * server frees what a session holds when the session ends, and ends it when it has been silent for too long: so the lock is
 * a lease, whose renewals are signs of life.
 */
import { systemClock } from '../../clock/clock.js'
import { inTime } from '../../clock/in-time.js'
import {
  isLockError,
  LockUsageError,
  StoreUnavailableError,
  UnsupportedLockError,
  type LockError,
} from '../../errors.js'
import type {
  AttemptResult,
  Claim,
  ClaimRef,
  Renewal,
  RenewResult,
  Store,
  Traits,
  Watch,
  WithdrawOutcome,
} from '../../store/contract.js'
import type { SessionPort } from './port.js'
import { SessionEndedError, type Session } from './session.js'
import { Sessions } from './sessions.js'

interface Tombstone {
  readonly untilMs: number
  /** Undefined while nobody knows. */
  outcome?: WithdrawOutcome
  /** A release that is under way: whoever asks again shares its answer, which may come late. */
  release?: Promise<WithdrawOutcome> | undefined
}

export class SessionStore implements Store<false> {
  readonly name: string
  readonly traits: Traits<false>
  readonly #port: SessionPort
  readonly #requestTimeoutMs: number
  readonly #sessions: Sessions
  /** Where each claim is, from its first attempt to its withdrawal. */
  readonly #claims = new Map<string, Session>()
  readonly #tombstones = new Map<string, Tombstone>()
  #closed = false

  constructor(port: SessionPort, requestTimeoutMs: number) {
    this.name = `${port.name} session`
    this.#port = port
    this.#requestTimeoutMs = requestTimeoutMs
    this.#sessions = new Sessions(port, requestTimeoutMs)
    this.traits = {
      fencing: false,
      tokenBlocks: false,
      kinds: port.sharing ? ['mutex', 'readWriteLock'] : ['mutex'],
      fair: false,
      wakeUp: 'poll',
      expiry: 'session',
      downgrade: port.sharing,
      steal: false,
      inspect: false,
      pollMs: [50, 250],
      ttlMs: [1, port.longestMs],
    }
  }

  async attempt(claim: Claim): Promise<AttemptResult> {
    this.#assertOpen(claim.lock)
    if (!this.traits.kinds.includes(claim.kind)) throw this.#unsupported(claim.kind, claim.lock)
    return this.#bounded(this.#attempt(claim))
  }

  async renew(renewals: readonly Renewal[]): Promise<readonly RenewResult[]> {
    const touched = new Map<Session, Promise<LockError | undefined>>()
    const results = renewals.map(async ({ id }): Promise<RenewResult> => {
      const session = this.#claims.get(id)
      if (session?.holds(id)) {
        if (!touched.has(session)) touched.set(session, this.#touch(session))
        const failure = await touched.get(session)
        if (failure && !(failure instanceof SessionEndedError)) return { outcome: 'unknown', cause: failure }
        if (session.holds(id)) return { outcome: 'renewed' }
      }
      if (session?.ended) this.#claims.delete(id)
      return { outcome: 'lost', reason: 'expired' }
    })
    return Promise.all(results)
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    this.#assertOpen(claim.lock)
    const key = keyOf(claim)
    const session = this.#claims.get(claim.id)
    const tombstone = this.#tombstones.get(key) ?? this.#bury(key, claim.ttlMs)
    if (tombstone.outcome === undefined && !session) tombstone.outcome = 'absent'
    if (tombstone.outcome !== undefined || !session) return tombstone.outcome ?? 'absent'
    tombstone.release ??= this.#release(session, claim)
      .then((outcome) => (tombstone.outcome = outcome))
      .finally(() => (tombstone.release = undefined))
    return this.#bounded(tombstone.release)
  }

  async downgrade(claim: ClaimRef): Promise<boolean> {
    if (!this.traits.downgrade) throw this.#unsupported('downgrade', claim.lock)
    const session = this.#claims.get(claim.id)
    if (!session?.holds(claim.id)) return false
    try {
      return await this.#bounded(session.downgrade(claim))
    } catch (error) {
      if (error instanceof SessionEndedError) return false
      throw error
    }
  }

  /** There are no wake-ups: whoever waits comes back now and then. */
  watch(): Watch {
    return { ready: undefined, close: () => undefined }
  }

  steal(lock: string): never {
    throw this.#unsupported('steal', lock)
  }

  inspect(): never {
    throw this.#unsupported('inspect')
  }

  close(): void {
    this.#closed = true
    this.#sessions.close()
  }

  async #attempt(claim: Claim): Promise<AttemptResult> {
    const wanted = (): boolean => !this.#tombstones.has(keyOf(claim))
    for (let tries = 1; ; tries += 1) {
      const session = await this.#sessions.ready(claim.ttlMs)
      if (!wanted()) return { outcome: 'withdrawn' }
      this.#claims.set(claim.id, session)
      try {
        const result = await session.attempt(claim, wanted)
        if (result.outcome !== 'granted') this.#forget(claim.id, session)
        return result
      } catch (error) {
        if (session.ended) this.#forget(claim.id, session)
        // A session may end at any time. What it held is gone, so the attempt can be made anew.
        if (tries > 1 || !(error instanceof SessionEndedError)) throw error
      }
    }
  }

  async #release(session: Session, claim: ClaimRef): Promise<WithdrawOutcome> {
    try {
      const released = await session.withdraw(claim)
      if (released) this.#forget(claim.id, session)
      return released ? 'released' : 'absent'
    } catch (error) {
      if (!(error instanceof SessionEndedError)) throw error
      this.#forget(claim.id, session)
      return 'absent'
    }
  }

  async #touch(session: Session): Promise<LockError | undefined> {
    try {
      await this.#bounded(session.touch())
      return undefined
    } catch (error) {
      if (isLockError(error)) return error
      return new StoreUnavailableError('The sign of life failed.', { store: this.name, cause: error })
    }
  }

  #forget(id: string, session: Session): void {
    if (this.#claims.get(id) === session) this.#claims.delete(id)
  }

  #bury(key: string, ttlMs: number): Tombstone {
    const nowMs = systemClock.monotonicMs()
    for (const [old, { untilMs }] of this.#tombstones) {
      if (untilMs > nowMs) break
      this.#tombstones.delete(old)
    }
    const tombstone: Tombstone = { untilMs: nowMs + ttlMs }
    this.#tombstones.set(key, tombstone)
    return tombstone
  }

  /** The caller is told in time. What was asked goes on in its turn: a lock that is taken late is dropped after that. */
  #bounded<T>(work: Promise<T>): Promise<T> {
    const limitMs = this.#requestTimeoutMs
    return inTime(work, limitMs, () => {
      const text = `The database did not answer within ${limitMs} ms. The outcome is unknown.`
      return new StoreUnavailableError(text, { store: this.name })
    })
  }

  #assertOpen(lock: string): void {
    if (!this.#closed) return
    throw new LockUsageError(`The ${this.name} store was closed before "${lock}" was asked for.`, {
      code: 'LOCKS_CLOSED',
      lock,
      store: this.name,
    })
  }

  #unsupported(what: string, lock?: string): UnsupportedLockError {
    const kinds = this.#port.sharing ? 'mutexes and readers-writer locks' : 'mutexes'
    return new UnsupportedLockError(
      `The ${this.name} store in session mode has no ${what}${lock === undefined ? '' : ` ("${lock}")`}: it offers ${kinds} only. ` +
        "Leave out mode: 'session' to have everything.",
      { lock, store: this.name },
    )
  }
}

function keyOf({ lock, id }: Pick<ClaimRef, 'lock' | 'id'>): string {
  return `${id} ${lock}`
}

/** @throws LockUsageError for any other mode. */
export function checkMode(mode: unknown, store: string): void {
  if (mode === 'session') return
  throw new LockUsageError(`mode is 'session' or left out, not ${JSON.stringify(mode)}.`, { store })
}
