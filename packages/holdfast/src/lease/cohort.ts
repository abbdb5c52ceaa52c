/**
 * A cohort: the callers of one process that want one lock for themselves alone.
 *
 * They queue here, in order; one claim stands for all of them in the store's queue. A release
 * passes the lease to the next of them without a call to the store, within a bound: then the claim
 * is withdrawn and a new one queues behind the other processes, in one round trip where the store
 * batches.
 */
import type { Timer } from '../clock/clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'
import type { LockError } from '../errors.js'
import { startClaim } from './start-claim.js'
import type { ClaimTemplate, Client } from './client.js'
import { announceGrant, Grant, type GrantQueue } from './grant.js'
import { HAND_OFFS_IN_A_ROW, handOff, leaseOn, canHandOff } from './hand-off.js'
import type { HeldLease, Releaser } from './lease.js'
import { releaseGrant } from './release.js'
import type { PendingClaim, ClaimListener, ClaimTerms } from './pending-claim.js'
import { Wait, type WaitLimits } from './wait.js'

export class Cohort implements Releaser, GrantQueue {
  readonly #client: Client
  readonly #template: ClaimTemplate
  readonly #waits = new LinkedSet<Wait>()
  #pending: PendingClaim | undefined
  #grant: Grant | undefined
  /** Keeps the process alive. */
  #keepAliveTimer: Timer | undefined
  readonly #terms: ClaimTerms = {
    enqueue: true,
    queue: this,
    renews: true,
    // A block only when somebody is there to use it, or the tokens would run ahead of the store's
    // clock.
    tokens: () => (this.size > 1 && this.#client.store.traits.tokenBlocks ? HAND_OFFS_IN_A_ROW : 1),
    localWaiters: () => Math.max(0, this.size - 1),
  }
  readonly #listener: ClaimListener = {
    done: (grant, error) => {
      this.#pending = undefined
      if (grant) this.#serve(grant)
      else this.#failAll(error)
    },
    failing: (outage) => {
      for (const wait of this.#waits.values()) wait.noteOutage(outage)
    },
  }
  readonly #whyUnknown = (): LockError | undefined => this.failure

  constructor(client: Client, template: ClaimTemplate) {
    this.#client = client
    this.#template = template
  }

  /** Whether nobody of this process holds the lock or wants it. */
  get idle(): boolean {
    return this.size === 0 && !this.#pending && !this.#grant
  }

  /**
   * Whether somebody of this process holds the lock or wants it: then there is no use in asking the
   * store.
   */
  get busy(): boolean {
    return (
      this.size > 0 ||
      this.#pending !== undefined ||
      (this.#grant?.isAlive(this.#client.clock.monotonicMs()) ?? false)
    )
  }

  /**
   * The error of the store, while it is unknown whether the lock is busy: see
   * `PendingClaim.failure`.
   */
  get failure(): LockError | undefined {
    return this.#pending?.failure
  }

  /**
   * Takes the lock at once where it is free and the store answers in the same turn; else queues.
   * Throws what the store threw in the same turn.
   */
  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): HeldLease | Promise<HeldLease> {
    if (this.idle) {
      const granted = this.#requestGrant()
      if (granted) {
        announceGrant(granted, 0)
        return this.adopt(granted, nowMs, maxHoldMs)
      }
    }
    const wait = new Wait(this.#client, this.#template.lock, nowMs, maxHoldMs)
    const place = this.#waits.add(wait)
    wait.onGiveUp = () => this.#leave(place)
    wait.failure = this.#whyUnknown
    wait.limit(limits)
    this.#updateKeepAlive()
    return wait.promise
  }

  /** A grant that was got without queueing. */
  adopt(grant: Grant, nowMs: number, maxHoldMs: number): HeldLease {
    this.#grant = grant
    grant.queue = this
    this.#client.renewals.add(grant)
    return leaseOn(this.#client, grant, this, nowMs, maxHoldMs)
  }

  /** How many wait here. */
  get size(): number {
    return this.#waits.size
  }

  onLoss(grant: Grant): void {
    this.#moveOn(grant)
  }

  giveBack(grant: Grant, nowMs: number): 'released' | 'lost' | Promise<'released' | 'lost'> {
    const next = canHandOff(grant, nowMs) ? this.#next() : undefined
    if (next) {
      handOff(this.#client, grant, next, this, nowMs)
      this.#updateKeepAlive()
      return 'released'
    }
    const outcome = releaseGrant(this.#client, grant, nowMs)
    this.#moveOn(grant)
    return outcome
  }

  /** The grant is over: the rest queue in the store again, where there are any. */
  #moveOn(grant: Grant): void {
    if (this.#grant === grant) this.#grant = undefined
    this.#updateKeepAlive()
    if (this.size > 0 && !this.#pending) this.#startClaim()
  }

  /** Starts a claim. Returns the grant if the store grants it synchronously. */
  #requestGrant(): Grant | undefined {
    const found = startClaim(this.#client, this.#template, this.#terms, this.#listener)
    if (found instanceof Grant) return found
    if (!found.over) this.#pending = found
    return undefined
  }

  /** For those who queue here already. */
  #startClaim(): void {
    try {
      const granted = this.#requestGrant()
      if (granted) this.#serve(granted)
    } catch (error) {
      this.#failAll(error)
    }
  }

  #serve(grant: Grant): void {
    const nowMs = this.#client.clock.monotonicMs()
    const wait = this.#next()
    if (!wait) {
      // Everybody gave up in the very turn in which it was granted.
      this.#client.withdrawals.inBackground(grant.claim)
      return
    }
    const lease = this.adopt(grant, nowMs, wait.maxHoldMs)
    announceGrant(grant, nowMs - wait.startedMs)
    wait.serve(lease)
    this.#updateKeepAlive()
  }

  /**
   * A lease may end by itself while its holder, and nothing else in this process, moves. Those who
   * wait here get the lock then, and nothing but this timer would keep the process alive for them
   * until then.
   */
  #updateKeepAlive(): void {
    const grant = this.size > 0 ? this.#grant : undefined
    if (!grant || (grant.renews && grant.holder?.endsMs === Infinity)) {
      this.#keepAliveTimer?.cancel()
      this.#keepAliveTimer = undefined
      return
    }
    this.#keepAliveTimer ??= this.#client.clock.timer(grant.ttlMs, () => {
      this.#keepAliveTimer = undefined
      this.#updateKeepAlive()
    })
  }

  #failAll(error: unknown): void {
    for (let wait = this.#next(); wait; wait = this.#next()) {
      wait.fail(this.#client.asLockError(error, this.#template.lock, 'the attempt'))
    }
  }

  /** Takes out who has waited for the longest. */
  #next(): Wait | undefined {
    const first = this.#waits.first
    if (!first) return undefined
    this.#waits.delete(first)
    return first.value
  }

  #leave(place: Place<Wait>): void {
    this.#waits.delete(place)
    this.#updateKeepAlive()
    if (this.size > 0) return
    this.#pending?.stop()
    this.#pending = undefined
  }
}
