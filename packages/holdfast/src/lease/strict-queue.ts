/**
 * The callers of one process that want one lock for themselves alone, strictly in the order of the store's queue.
 *
 * Each has a claim of its own there. Where the store numbers its queue, and the next in line is a caller of this process
 * as well, a release hands the grant on to it without a call: nobody stands between the two, so nobody is overtaken. The
 * claim of whoever was served like that is withdrawn, in one round trip with the release where the store batches.
 *
 * Those who ask anew in the turn in which the grant went on ask together with the last one of the row, who comes back
 * only when the store has answered to its release. Else it would come to stand behind the callers of other processes,
 * one after each row, until nobody stood next to anybody of its own any more.
 */
import { soonOf } from '../clock/clock.js'
import { LinkedSet, type Place } from '../collections/linked-set.js'
import { CallerQueue, type Queued } from './caller-queue.js'
import type { LockError } from '../errors.js'
import type { ClaimShape, Client } from './client.js'
import { inNobodysContext } from './context.js'
import { announceGrant, type Grant } from './grant.js'
import { HAND_OFFS_IN_A_ROW, handOn, leaseOn, mayHandOn } from './hand-on.js'
import type { HeldLease, Keepsake } from './lease.js'
import { releaseGrant } from './release.js'
import { Wait, type WaitLimits } from './wait.js'

export class StrictQueue implements Keepsake {
  readonly #client: Client
  readonly #shape: ClaimShape
  readonly #soon: (work: () => void) => void
  readonly #queued: CallerQueue
  /** Those who ask when the turn is over. */
  readonly #held = new LinkedSet<Wait>()
  /** From the first time that the grant goes on in a turn until the turn is over, and the grant is given back. */
  #inRow = false
  /** How many releases have no answer yet. */
  #givingBack = 0
  /** Whether several of this process have wanted the lock at once. */
  #crowded = false

  constructor(client: Client, shape: ClaimShape) {
    this.#client = client
    this.#shape = shape
    this.#soon = soonOf(client.clock)
    const { tokenBlocks } = client.store.traits
    const terms = {
      enqueue: true,
      renews: true,
      // A block only where several are likely to use it, or the tokens would run ahead of the store's clock.
      tokens: () => (tokenBlocks && this.#crowded ? HAND_OFFS_IN_A_ROW : 1),
      localWaiters: () => 0,
    }
    this.#queued = new CallerQueue(client, shape, terms, (wait, grant) => this.#serve(wait, grant))
  }

  /** Whether nobody of this process waits here. */
  get idle(): boolean {
    return this.#queued.size === 0 && !this.#inRow
  }

  /** Why nobody knows whether the lock is busy: see `Seek.failure`. */
  get failure(): LockError | undefined {
    return this.#queued.failure
  }

  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): Promise<HeldLease> {
    const wait = new Wait(this.#client, this.#shape.lock, nowMs, maxHoldMs)
    wait.limit(limits)
    this.#crowded ||= !this.idle
    if (this.#inRow) this.#hold(wait)
    else this.#queued.enter(wait)
    return wait.promise
  }

  giveBack(grant: Grant, nowMs: number): 'released' | 'lost' | Promise<'released' | 'lost'> {
    const next = mayHandOn(grant, nowMs) ? this.#behind(grant) : undefined
    if (!next) return this.#release(grant, nowMs)
    const { wait, seek: its } = next.value
    grant.place = its?.place
    this.#queued.leave(next)
    handOn(this.#client, grant, wait, this, nowMs)
    if (!this.#inRow) {
      this.#inRow = true
      this.#endTurnSoon()
    }
    return 'released'
  }

  /** The caller right behind the holder of the grant in the store's queue, if it is of this process. */
  #behind(grant: Grant): Place<Queued> | undefined {
    const { first } = this.#queued
    if (!first || grant.place === undefined) return undefined
    return first.value.seek?.place === grant.place + 1 ? first : undefined
  }

  #release(grant: Grant, nowMs: number): 'released' | 'lost' | Promise<'released' | 'lost'> {
    const outcome = releaseGrant(this.#client, grant, nowMs)
    if (this.#inRow && typeof outcome !== 'string') {
      this.#givingBack += 1
      const answered = (): void => {
        this.#givingBack -= 1
        // Whoever is told of the release may ask anew first.
        this.#endTurnSoon()
      }
      outcome.then(answered, answered)
    }
    return outcome
  }

  /** In nobody's context: it asks for several callers, and none of them is the one that lets go. */
  #endTurnSoon(): void {
    inNobodysContext(() => this.#soon(() => this.#endTurn()))
  }

  #endTurn(): void {
    if (this.#givingBack > 0) return
    this.#inRow = false
    for (let first = this.#held.first; first; first = this.#held.first) {
      this.#held.delete(first)
      this.#queued.enter(first.value)
    }
  }

  #hold(wait: Wait): void {
    const place = this.#held.add(wait)
    wait.onGiveUp = () => void this.#held.delete(place)
  }

  #serve(wait: Wait, grant: Grant): void {
    const nowMs = this.#client.clock.monotonicMs()
    this.#client.keeper.add(grant)
    announceGrant(grant, nowMs - wait.startedMs)
    wait.serve(leaseOn(this.#client, grant, this, nowMs, wait.maxHoldMs))
  }
}
