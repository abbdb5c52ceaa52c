/**
 * A cohort: the callers of one process that want one lock for themselves alone.
 *
 * They queue here, in order; one claim stands for all of them in the store's queue. A release passes the lease to the
 * next of them without a call to the store, within a bound: then the claim is withdrawn and a new one queues behind the
 * other processes, in one round trip where the store batches.
 */
import type { Timer } from '../clock/clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'
import type { LockError } from '../errors.js'
import { seek } from './attempt.js'
import type { ClaimShape, Client } from './client.js'
import { announceGrant, Grant, type GrantQueue } from './grant.js'
import { HAND_OFFS_IN_A_ROW, handOn, leaseOn, mayHandOn } from './hand-on.js'
import type { HeldLease, Keepsake } from './lease.js'
import { releaseGrant } from './release.js'
import type { Seek, SeekListener, SeekTerms } from './seek.js'
import { Wait, type WaitLimits } from './wait.js'

export class Cohort implements Keepsake, GrantQueue {
  readonly #client: Client
  readonly #shape: ClaimShape
  readonly #waits = new LinkedSet<Wait>()
  #seek: Seek | undefined
  #grant: Grant | undefined
  /** Keeps the process alive. */
  #vigil: Timer | undefined
  readonly #terms: SeekTerms = {
    enqueue: true,
    queue: this,
    renews: true,
    // A block only when somebody is there to use it, or the tokens would run ahead of the store's clock.
    tokens: () => (this.size > 1 && this.#client.store.traits.tokenBlocks ? HAND_OFFS_IN_A_ROW : 1),
    localWaiters: () => Math.max(0, this.size - 1),
  }
  readonly #listener: SeekListener = {
    done: (grant, error) => {
      this.#seek = undefined
      if (grant) this.#serve(grant)
      else this.#failAll(error)
    },
    failing: (outage) => {
      for (const wait of this.#waits.values()) wait.noteOutage(outage)
    },
  }
  readonly #whyUnknown = (): LockError | undefined => this.failure

  constructor(client: Client, shape: ClaimShape) {
    this.#client = client
    this.#shape = shape
  }

  /** Whether nobody of this process holds the lock or wants it. */
  get idle(): boolean {
    return this.size === 0 && !this.#seek && !this.#grant
  }

  /** Whether somebody of this process holds the lock or wants it: then there is no use in asking the store. */
  get busy(): boolean {
    return (
      this.size > 0 ||
      this.#seek !== undefined ||
      (this.#grant?.isAlive(this.#client.clock.monotonicMs()) ?? false)
    )
  }

  /** Why nobody knows whether the lock is busy: see `Seek.failure`. */
  get failure(): LockError | undefined {
    return this.#seek?.failure
  }

  /**
   * Takes the lock at once where it is free and the store answers in the same turn; else queues.
   * Throws what the store threw in the same turn.
   */
  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): HeldLease | Promise<HeldLease> {
    if (this.idle) {
      const granted = this.#seekGrant()
      if (granted) {
        announceGrant(granted, 0)
        return this.adopt(granted, nowMs, maxHoldMs)
      }
    }
    const wait = new Wait(this.#client, this.#shape.lock, nowMs, maxHoldMs)
    const place = this.#waits.add(wait)
    wait.onGiveUp = () => this.#leave(place)
    wait.failure = this.#whyUnknown
    wait.limit(limits)
    this.#keepVigil()
    return wait.promise
  }

  /** A grant that was got without queueing. */
  adopt(grant: Grant, nowMs: number, maxHoldMs: number): HeldLease {
    this.#grant = grant
    grant.queue = this
    this.#client.keeper.add(grant)
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
    const next = mayHandOn(grant, nowMs) ? this.#next() : undefined
    if (next) {
      handOn(this.#client, grant, next, this, nowMs)
      this.#keepVigil()
      return 'released'
    }
    const outcome = releaseGrant(this.#client, grant, nowMs)
    this.#moveOn(grant)
    return outcome
  }

  /** The grant is over: the rest queue in the store again, where there are any. */
  #moveOn(grant: Grant): void {
    if (this.#grant === grant) this.#grant = undefined
    this.#keepVigil()
    if (this.size > 0 && !this.#seek) this.#startSeek()
  }

  /** Starts a seek. Gives the grant where the store gives it in the same turn. */
  #seekGrant(): Grant | undefined {
    const found = seek(this.#client, this.#shape, this.#terms, this.#listener)
    if (found instanceof Grant) return found
    if (!found.over) this.#seek = found
    return undefined
  }

  /** For those who queue here already. */
  #startSeek(): void {
    try {
      const granted = this.#seekGrant()
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
    this.#keepVigil()
  }

  /**
   * A lease may end by itself while its holder, and nothing else in this process, moves. Those who wait here get the lock
   * then, and nothing but this timer would keep the process alive for them until then.
   */
  #keepVigil(): void {
    const grant = this.size > 0 ? this.#grant : undefined
    if (!grant || (grant.renews && grant.holder?.endsMs === Infinity)) {
      this.#vigil?.cancel()
      this.#vigil = undefined
      return
    }
    this.#vigil ??= this.#client.clock.timer(grant.ttlMs, () => {
      this.#vigil = undefined
      this.#keepVigil()
    })
  }

  #failAll(error: unknown): void {
    for (let wait = this.#next(); wait; wait = this.#next()) {
      wait.fail(this.#client.asLockError(error, this.#shape.lock, 'the attempt'))
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
    this.#keepVigil()
    if (this.size > 0) return
    this.#seek?.stop()
    this.#seek = undefined
  }
}
