/**
 * What every part of a client works with: the store, time, randomness, the identity of the owner,
 * claim ids, the callers that wait, and the makers of errors and events. It decides nothing.
 */
import { hostname } from 'node:os'
import { LinkedSet } from '../collections/linked-set.js'
import type { Clock, Random } from '../clock/clock.js'
import { RequestTimeouts } from '../clock/request-timeouts.js'
import { isLockError, LockUsageError, StoreUnavailableError, type LockError } from '../errors.js'
import type { Claim, LockKind, Owner, Store } from '../store/contract.js'
import { clocksParted } from './deadline.js'
import { publish, type LockEvent, type LockEvents } from './events.js'

/** The part of a claim that all claims of one lock object share. */
export interface ClaimTemplate {
  readonly lock: string
  readonly kind: LockKind
  readonly capacity: number
  readonly weight: number
  readonly ttlMs: number
}

/** Enough of a claim for an event. */
export type ClaimName = Pick<Claim, 'lock' | 'id'>

/** A request that waits for its answer. */
interface PendingAnswer {
  readonly lock: string
  readonly verb: string
  /** Called when the answer is late. The request goes on. */
  readonly late?: () => void
}

/** A caller that waits, as `close` sees it. */
export interface OpenWait {
  close(): void
}

export interface RuntimeOptions {
  readonly clock: Clock
  readonly random: Random
  readonly label: string | undefined
  readonly requestTimeoutMs: number
}

/** A heartbeat is at most one second, and at most a third of the TTL. */
const LONGEST_HEARTBEAT_MS = 1000
/** After this time without an answer a request counts as late. */
export const LATE_AFTER_MS = 1000

export class Runtime {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly requestTimeoutMs: number
  readonly owner: Owner
  /** In the order of the calls. */
  readonly waits = new LinkedSet<OpenWait>()
  readonly #requestTimeouts: RequestTimeouts
  /** The prefix of new claim ids. */
  #claimRoot: string
  /** The distance between the clocks when the last claim was made. */
  #offsetMs: number
  #claims = 0
  #closed = false

  constructor(store: Store, { clock, random, label, requestTimeoutMs }: RuntimeOptions) {
    this.store = store
    this.clock = clock
    this.random = random
    this.requestTimeoutMs = requestTimeoutMs
    this.owner = {
      clientId: random.id(),
      host: hostname(),
      pid: process.pid,
      ...(label === undefined ? {} : { label }),
    }
    this.#claimRoot = this.owner.clientId
    this.#offsetMs = this.clockOffsetMs()
    this.#requestTimeouts = new RequestTimeouts(clock, requestTimeoutMs, LATE_AFTER_MS)
  }

  get closed(): boolean {
    return this.#closed
  }

  markClosed(): void {
    this.#closed = true
  }

  /** @throws LockUsageError (`LOCKS_CLOSED`) when the client was closed. */
  assertOpen(lock: string): void {
    if (!this.#closed) return
    throw new LockUsageError(
      `Lock "${lock}" was asked for after locks.close(). Make a new client with createLocks.`,
      { code: 'LOCKS_CLOSED', lock, store: this.store.name },
    )
  }

  /** Returns the error for a caller whose wait ends because the client was closed. */
  closedError(lock: string): LockUsageError {
    return new LockUsageError(`The wait for "${lock}" ended: locks.close() was called.`, {
      code: 'LOCKS_CLOSED',
      lock,
      store: this.store.name,
    })
  }

  /** @param offsetMs `clockOffsetMs()` of now */
  newClaim(template: ClaimTemplate, offsetMs = this.clockOffsetMs()): Claim {
    this.#claims += 1
    // The machine may run from a snapshot. Its twin counts on from the same number.
    if (clocksParted(offsetMs, this.#offsetMs, template.ttlMs)) this.#claimRoot = this.random.id()
    this.#offsetMs = offsetMs
    return {
      lock: template.lock,
      // The root is random and the count never repeats. That is cheaper than randomness per claim.
      id: `${this.#claimRoot}.${this.#claims.toString(36)}`,
      kind: template.kind,
      capacity: template.capacity,
      weight: template.weight,
      ttlMs: template.ttlMs,
      heartbeatMs: Math.min(LONGEST_HEARTBEAT_MS, template.ttlMs / 3),
      owner: this.owner,
    }
  }

  /**
   * Returns how far the wall clock is ahead of the monotonic one. The distance changes when the
   * machine sleeps and when a clock is set.
   */
  clockOffsetMs(nowMs = this.clock.monotonicMs()): number {
    return this.clock.wallMs() - nowMs
  }

  /** Draws a duration evenly between two bounds, so that many processes do not move in step. */
  jitter(shortestMs: number, longestMs: number): number {
    return shortestMs + this.random.next() * (longestMs - shortestMs)
  }

  /**
   * Calls one of the two when the store answers, or `onError` after `requestTimeoutMs`. A later
   * answer is dropped: the outcome then counts as unknown.
   */
  whenAnswered<T>(
    answer: PromiseLike<T>,
    { lock, verb, late }: PendingAnswer,
    onValue: (value: T) => void,
    onError: (error: LockError) => void,
  ): void {
    const request = this.#requestTimeouts.start(
      () => onError(this.noAnswer(lock, verb, this.requestTimeoutMs)),
      late,
    )
    answer.then(
      (value) => {
        if (this.#requestTimeouts.settle(request)) onValue(value)
      },
      (error: unknown) => {
        if (this.#requestTimeouts.settle(request)) onError(this.asLockError(error, lock, verb))
      },
    )
  }

  /** As `whenAnswered`, with a promise. */
  bounded<T>(answer: PromiseLike<T>, lock: string, verb: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.whenAnswered(answer, { lock, verb }, resolve, reject)
    })
  }

  noAnswer(lock: string, verb: string, afterMs: number): StoreUnavailableError {
    return new StoreUnavailableError(
      `The ${this.store.name} store did not answer to ${verb} of "${lock}" within ${Math.round(afterMs)} ms. ` +
        'Look at the store and the network, or raise requestTimeoutMs.',
      { lock, store: this.store.name },
    )
  }

  /** Returns what a store threw as an error of Holdfast. */
  asLockError(error: unknown, lock: string, verb: string): LockError {
    if (isLockError(error)) return error
    const reason = error instanceof Error ? error.message : String(error)
    return new StoreUnavailableError(
      `The ${this.store.name} store failed at ${verb} of "${lock}": ${reason}`,
      { lock, store: this.store.name, cause: error },
    )
  }

  event(claim: ClaimName): LockEvent {
    return {
      lock: claim.lock,
      store: this.store.name,
      clientId: this.owner.clientId,
      claimId: claim.id,
    }
  }

  /** Publishes a failure in the background: no caller waits for it. */
  report(claim: ClaimName, during: LockEvents['error']['during'], error: unknown): void {
    publish('error', () => ({ ...this.event(claim), during, error }))
  }
}
