/**
 * The callers of one client whose leases are never handed on: readers, permit holders, and leases
 * that are not renewed.
 */
import type { LockError } from '../errors.js'
import type { ClaimTemplate, Client } from './client.js'
import { CallerQueue } from './caller-queue.js'
import { announceGrant, type Grant } from './grant.js'
import { HeldLease, type Releaser } from './lease.js'
import { releaseGrant } from './release.js'
import { Wait, type WaitLimits } from './wait.js'

export class SeparateQueue implements Releaser {
  readonly #client: Client
  readonly #template: ClaimTemplate
  readonly #callers: CallerQueue

  constructor(client: Client, template: ClaimTemplate, renews: boolean) {
    this.#client = client
    this.#template = template
    const terms = { enqueue: true, renews, tokens: () => 1, localWaiters: () => 0 }
    this.#callers = new CallerQueue(client, template, terms, (wait, grant) =>
      this.#serve(wait, grant),
    )
  }

  /** Whether no caller of this process waits here. */
  get idle(): boolean {
    return this.#callers.size === 0
  }

  /**
   * The error of the store, while it is unknown whether the lock is busy: see
   * `PendingClaim.failure`.
   */
  get failure(): LockError | undefined {
    return this.#callers.failure
  }

  enter(limits: WaitLimits, nowMs: number, maxHoldMs: number): Promise<HeldLease> {
    const wait = new Wait(this.#client, this.#template.lock, nowMs, maxHoldMs)
    wait.limit(limits)
    this.#callers.enter(wait)
    return wait.promise
  }

  giveBack(grant: Grant, nowMs: number): 'released' | 'lost' | Promise<'released' | 'lost'> {
    return releaseGrant(this.#client, grant, nowMs)
  }

  #serve(wait: Wait, grant: Grant): void {
    const nowMs = this.#client.clock.monotonicMs()
    this.#client.renewals.add(grant)
    announceGrant(grant, nowMs - wait.startedMs)
    wait.serve(new HeldLease(this.#client, grant, grant.token, nowMs, wait.maxHoldMs, this))
  }
}
