/**
 * The parts that every room of a client works with. These are the store, time, randomness, the
 * identity of the owner, claim ids, the callers that wait, and the makers of errors and events. It
 * decides nothing.
 */
import { hostname } from 'node:os'
import { OpenCalls } from '../../async/keep-alive.js'
import type { Clock, Random } from '../../clock/clock.js'
import { isLockError, LockUsageError, StoreUnavailableError, type LockError } from '../../errors.js'
import type { Claim, HolderInfo, LockKind, Owner, Store } from '../../store/contract.js'
import { ClockTrust } from '../grant/clock-trust.js'
import { clocksParted } from '../grant/deadline.js'
import { DeadlockDetector } from '../deadlock/detector.js'
import { channels, publish, type LockEvent, type LockEventName, type LockEvents } from './events.js'
import { HolderLookups } from './holder-lookups.js'
import { OpenWaits } from './open-waits.js'

/** The part of a claim that all claims of one lock object share. */
export interface ClaimTemplate {
  readonly lock: string
  readonly kind: LockKind
  readonly capacity: number
  readonly weight: number
  readonly ttlMs: number
  /** The claim is a candidate's. Default false. */
  readonly isElection?: boolean
}

/** Enough of a claim for an event. */
export type ClaimName = Pick<Claim, 'lock' | 'kind' | 'id'>

export interface RuntimeOptions {
  readonly clock: Clock
  readonly random: Random
  readonly label: string | undefined
  /** After which time a nested wait looks for a deadlock in other clients. */
  readonly deadlockCheckMs: number
}

/** A heartbeat is at most this, where the store names no other limit, and a third of the TTL. */
const LONGEST_HEARTBEAT_MS = 1000
/** Readings of an unchanged distance between the clocks differ by less: one has no fractions. */
const SAME_OFFSET_MS = 1
/** How often the distance between the clocks is measured at most. */
const MEASURES = 3

export class Runtime {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly owner: Owner
  /** The owner of the claims of elections. */
  readonly #candidate: Owner
  /** How many claims were made: the order of the calls. */
  claims = 0
  readonly waits: OpenWaits
  readonly deadlocks: DeadlockDetector
  readonly clockTrust = new ClockTrust()
  /** The callbacks that run under leases. */
  readonly runs = new OpenCalls()
  /** Whether `close` was called. */
  closed = false
  /** The prefix of new claim ids. */
  #claimRoot: string
  /** The distance between the clocks when the last claim was made. */
  #offsetMs: number
  /** The distance between the clocks when it was last measured with care. */
  #measuredMs: number
  readonly #lookups: HolderLookups
  readonly #longestHeartbeatMs: number
  readonly #assertUsable: Store['assertUsable']

  constructor(store: Store, { clock, random, label, deadlockCheckMs }: RuntimeOptions) {
    this.store = store
    this.#assertUsable = store.assertUsable
    this.#longestHeartbeatMs = store.traits.heartbeatMs ?? LONGEST_HEARTBEAT_MS
    this.clock = clock
    this.random = random
    this.owner = {
      clientId: random.id(),
      host: hostname(),
      pid: process.pid,
      ...(label === undefined ? {} : { label }),
    }
    this.#candidate = { ...this.owner, election: true }
    this.#claimRoot = `${this.owner.clientId}.`
    const nowMs = clock.monotonicMs()
    this.#offsetMs = this.#measuredMs = clock.wallMs() - nowMs
    this.waits = new OpenWaits(clock)
    this.#lookups = new HolderLookups(store, clock)
    this.deadlocks = new DeadlockDetector(this, deadlockCheckMs)
  }

  /**
   * @throws LockUsageError (`LOCKS_CLOSED`) when the client was closed, or may not be used by this
   * caller.
   */
  assertOpen(lock: string): void {
    if (this.closed) throw this.lateCallError(lock)
    this.#assertUsable?.(lock)
  }

  /** Returns the error for a call after the client was closed. */
  lateCallError(lock: string): LockUsageError {
    return new LockUsageError(
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

  /**
   * @param offsetMs `clockOffsetMs()` of now
   * @param localWaiters how many callers of this process wait behind the claim
   */
  newClaim(template: ClaimTemplate, offsetMs = this.clockOffsetMs(), localWaiters = 0): Claim {
    this.claims += 1
    // The machine may run from a snapshot. Its twin counts on from the same number.
    if (clocksParted(offsetMs, this.#offsetMs, template.ttlMs))
      this.#claimRoot = `${this.random.id()}.`
    this.#offsetMs = offsetMs
    const owner = template.isElection === true ? this.#candidate : this.owner
    return {
      lock: template.lock,
      // The root is random and the count never repeats. That is cheaper than randomness per claim.
      id: this.#claimRoot + this.claims.toString(36),
      kind: template.kind,
      capacity: template.capacity,
      weight: template.weight,
      ttlMs: template.ttlMs,
      heartbeatMs: Math.min(this.#longestHeartbeatMs, template.ttlMs / 3),
      owner: localWaiters === 0 ? owner : { ...owner, localWaiters },
    }
  }

  /**
   * Returns how far the wall clock is ahead of the monotonic one. The distance changes when the
   * machine sleeps and when a clock is set.
   */
  clockOffsetMs(nowMs = this.clock.monotonicMs()): number {
    const offsetMs = this.clock.wallMs() - nowMs
    if (Math.abs(offsetMs - this.#measuredMs) <= SAME_OFFSET_MS) return offsetMs
    return (this.#measuredMs = this.#measureOffsetMs())
  }

  /**
   * Reads both clocks close together. On a busy machine the process may lose the processor between
   * two readings, which looks like a step of the wall clock.
   */
  #measureOffsetMs(): number {
    for (let tries = 1; ; tries += 1) {
      const beforeMs = this.clock.monotonicMs()
      const offsetMs = this.clock.wallMs() - beforeMs
      const tookMs = this.clock.monotonicMs() - beforeMs
      if (tookMs <= SAME_OFFSET_MS || tries === MEASURES) return offsetMs
    }
  }

  /** Draws a duration evenly between two bounds, so that many processes do not move in step. */
  jitter(shortestMs: number, longestMs: number): number {
    return shortestMs + this.random.next() * (longestMs - shortestMs)
  }

  /** Returns the error for an attempt that is late, and may still be answered. */
  noAnswer(lock: string): StoreUnavailableError {
    return new StoreUnavailableError(
      // Callers may report it much later, so it names no duration.
      `The ${this.store.name} store does not answer the attempt of "${lock}". Check the store and the network.`,
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

  /** Resolves to who holds a lock, or to none where the store does not say. Never rejects. */
  async holdersOf(lock: string): Promise<readonly HolderInfo[]> {
    try {
      return await this.#lookups.of(lock)
    } catch {
      // The caller learns that its time is over in any case.
      return []
    }
  }

  /** Publishes what happened to a claim, or to its grant, if the event has subscribers. */
  announce<N extends LockEventName>(
    event: N,
    { lock, kind, id: claimId }: ClaimName,
    fields: Omit<LockEvents[N], keyof LockEvent>,
  ): void {
    if (!channels[event].hasSubscribers) return
    const { store, owner } = this
    const message = { lock, kind, store: store.name, clientId: owner.clientId, claimId, ...fields }
    publish(event, message as unknown as LockEvents[N])
  }

  /** Publishes what happened to the client, if the event has subscribers. */
  announceOfClient(event: 'helper-lost', fields: { readonly error: unknown }): void {
    if (!channels[event].hasSubscribers) return
    publish(event, { store: this.store.name, clientId: this.owner.clientId, ...fields })
  }

  /** Publishes a failure in the background: no caller waits for it. */
  report(claim: ClaimName, during: LockEvents['error']['during'], error: unknown): void {
    this.announce('error', claim, { during, error })
  }
}
