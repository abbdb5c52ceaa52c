/**
 * What all locks of one `createLocks` call share: the store, the clock, the identity of the owner,
 * the renewal scheduler, the heartbeats of its waiters, and the withdrawals that still have to get
 * through.
 */
import { hostname } from 'node:os'
import { systemClock, systemRandom, type Clock, type Random } from '../clock/clock.js'
import { RequestTimeouts } from '../clock/request-timeouts.js'
import { isLockError, LockUsageError, StoreUnavailableError, type LockError } from '../errors.js'
import { LinkedSet } from '../collections/linked-set.js'
import type { Claim, LockKind, Owner, Store } from '../store/contract.js'
import { publish, type LockEvent, type LockEvents } from './events.js'
import { Cohort } from './cohort.js'
import { clocksParted } from './deadline.js'
import { Heartbeats } from './heartbeats.js'
import type { HeldLease } from './lease.js'
import { LocalQueues } from './local-queues.js'
import { NOTED_AFTER_MS, OUTAGE_LIMIT_MS } from './outage.js'
import { RenewalScheduler } from './renewal-scheduler.js'
import { Retries } from './retries.js'
import {
  checkDuration,
  checkLabel,
  checkObject,
  checkWait,
  clientSettings,
  type LockSettings,
  type LocksOptions,
} from './settings.js'
import { SeparateQueue } from './separate-queue.js'
import { StrictQueue } from './strict-queue.js'
import type { Closable, WaitLimits } from './wait.js'
import { Withdrawals } from './withdrawal.js'

/** What a lock asks of the store, apart from who asks: the shape of its claims. */
export interface ClaimTemplate {
  readonly lock: string
  readonly kind: LockKind
  readonly capacity: number
  readonly weight: number
  readonly ttlMs: number
}

/** An answer of the store, and what it is awaited for. */
interface PendingAnswer {
  readonly lock: string
  readonly verb: string
  /** Called when the answer is late, and is waited for still. */
  readonly late?: () => void
}

/** A heartbeat is at most one second, and at most a third of the TTL. */
const LONGEST_HEARTBEAT_MS = 1000

export class Client {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly settings: LockSettings
  readonly waitMs: number
  /** Those of a caller who says nothing about it. */
  readonly waitLimits: WaitLimits
  readonly requestTimeoutMs: number
  readonly owner: Owner
  readonly renewals: RenewalScheduler
  readonly heartbeats: Heartbeats
  readonly retries: Retries
  readonly withdrawals: Withdrawals
  readonly cohorts: LocalQueues<Cohort>
  readonly strictQueues: LocalQueues<StrictQueue>
  readonly separateQueues: Readonly<Record<'renewed' | 'fixed', LocalQueues<SeparateQueue>>>
  /** Leases that nobody has released yet, and callers that still wait: what `close` has to end. */
  readonly leases = new LinkedSet<HeldLease>()
  readonly waits = new LinkedSet<Closable>()
  readonly #requestTimeouts: RequestTimeouts
  /**
   * What the ids of its claims begin with, and how far its clocks were apart when it made the last
   * one.
   */
  #claimRoot: string
  #offsetMs: number
  #claims = 0
  #closed = false

  constructor(store: Store, options: LocksOptions) {
    this.store = store
    checkObject('the options of createLocks', options)
    this.settings = clientSettings(options, store)
    this.waitMs = checkWait(options.waitMs, Infinity)
    this.waitLimits = {
      waitMs: this.waitMs,
      outageMs: options.waitMs === undefined ? OUTAGE_LIMIT_MS : Infinity,
      signal: undefined,
    }
    this.requestTimeoutMs = options.requestTimeoutMs ?? 5000
    checkDuration('requestTimeoutMs', this.requestTimeoutMs, { min: 1 })
    this.clock = options.clock ?? systemClock
    this.random = options.random ?? systemRandom
    this.owner = {
      clientId: this.random.id(),
      host: hostname(),
      pid: process.pid,
      ...(options.label === undefined ? {} : { label: checkLabel(options.label) }),
    }
    this.#claimRoot = this.owner.clientId
    this.#offsetMs = this.clockOffsetMs()
    this.#requestTimeouts = new RequestTimeouts(this.clock, this.requestTimeoutMs, NOTED_AFTER_MS)
    this.renewals = new RenewalScheduler(this)
    this.cohorts = new LocalQueues((template) => new Cohort(this, template))
    this.strictQueues = new LocalQueues((template) => new StrictQueue(this, template))
    this.separateQueues = {
      renewed: new LocalQueues((template) => new SeparateQueue(this, template, true)),
      fixed: new LocalQueues((template) => new SeparateQueue(this, template, false)),
    }
    this.heartbeats = new Heartbeats(this)
    this.retries = new Retries(this)
    this.withdrawals = new Withdrawals(this)
  }

  get closed(): boolean {
    return this.#closed
  }

  markClosed(): void {
    this.#closed = true
  }

  /** Throws when the client was closed: nothing new may start. */
  assertOpen(lock: string): void {
    if (!this.#closed) return
    throw new LockUsageError(
      `Lock "${lock}" was asked for after locks.close(). Make a new client with createLocks.`,
      {
        code: 'LOCKS_CLOSED',
        lock,
        store: this.store.name,
      },
    )
  }

  /** What became of a caller who waited while the client was closed. */
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
    // The machine may have been started from a snapshot, as may its twin, which counts on from the
    // same number.
    if (clocksParted(offsetMs, this.#offsetMs, template.ttlMs)) this.#claimRoot = this.random.id()
    this.#offsetMs = offsetMs
    return {
      lock: template.lock,
      // The root is random and the count never repeats: cheaper than randomness for each claim.
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
   * How far the wall clock is ahead of the monotonic one. It changes when the machine sleeps or a
   * clock is set.
   */
  clockOffsetMs(nowMs = this.clock.monotonicMs()): number {
    return this.clock.wallMs() - nowMs
  }

  /** A duration drawn evenly between two bounds, so that many processes do not move in step. */
  jitter(shortestMs: number, longestMs: number): number {
    return shortestMs + this.random.next() * (longestMs - shortestMs)
  }

  /**
   * Waits for an answer of the store, but not for ever, and calls one of the two. A late answer is
   * dropped: its outcome counts as unknown.
   */
  whenAnswered<T>(
    answer: PromiseLike<T>,
    { lock, verb, late }: PendingAnswer,
    onValue: (value: T) => void,
    onError: (error: LockError) => void,
  ): void {
    const question = this.#requestTimeouts.start(
      () => onError(this.noAnswer(lock, verb, this.requestTimeoutMs)),
      late,
    )
    answer.then(
      (value) => {
        if (this.#requestTimeouts.settle(question)) onValue(value)
      },
      (error: unknown) => {
        if (this.#requestTimeouts.settle(question)) onError(this.asLockError(error, lock, verb))
      },
    )
  }

  /** The same as a promise. */
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

  /** Whatever a store threw, as an error of Holdfast. */
  asLockError(error: unknown, lock: string, verb: string): LockError {
    if (isLockError(error)) return error
    const reason = error instanceof Error ? error.message : String(error)
    return new StoreUnavailableError(
      `The ${this.store.name} store failed at ${verb} of "${lock}": ${reason}`,
      {
        lock,
        store: this.store.name,
        cause: error,
      },
    )
  }

  event(claim: Pick<Claim, 'lock' | 'id'>): LockEvent {
    return {
      lock: claim.lock,
      store: this.store.name,
      clientId: this.owner.clientId,
      claimId: claim.id,
    }
  }

  /** Tells of a failure that no caller is there to hear. */
  report(
    claim: Pick<Claim, 'lock' | 'id'>,
    during: LockEvents['error']['during'],
    error: unknown,
  ): void {
    publish('error', () => ({ ...this.event(claim), during, error }))
  }
}
