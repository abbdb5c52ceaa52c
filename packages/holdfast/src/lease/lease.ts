/**
 * A lease: a caller's hold on a lock, and what it may know and do about it.
 */
import type { Timer } from '../clock/clock.js'
import { LockLostError, LockUsageError, UnsupportedLockError, type LossReason } from '../errors.js'
import type { Place } from '../collections/linked-set.js'
import type { LockKind } from '../store/contract.js'
import { promiseOf } from '../store/maybe-promise.js'
import { INSPECT } from '../store/with-json.js'
import type { Client } from './client.js'
import { bindContext, runUnder } from './context.js'
import { isWatched, publish } from './events.js'
import type { Grant, GrantHolder } from './grant.js'
import { checkNote, type LeaseNote } from './note.js'

/** The token of a lease: a bigint on stores that fence, undefined on the others. */
export type TokenOf<F extends boolean> = F extends true ? bigint : undefined

/**
 * A granted lock. It is renewed in the background until it is released, and ends at its deadline if
 * that fails.
 */
export interface Lease<F extends boolean = boolean> extends AsyncDisposable {
  /** The full name of the lock. */
  readonly name: string
  /** The id of the claim: names this hold in `inspect` and on the command line. */
  readonly claimId: string
  /**
   * Grows with every grant of this lock. Hand it to the protected resource, which refuses a smaller
   * one.
   */
  readonly token: TokenOf<F>
  /**
   * Whether the lock is still yours. Checked against the clock at each reading, so it is right even
   * after a pause.
   */
  readonly held: boolean
  /**
   * How long the lease lasts if it is not renewed any more, in milliseconds; 0 when it has ended.
   */
  readonly remainingMs: number
  /**
   * Aborts when the lease is lost, at the latest by its deadline, with a `LockLostError` as its
   * reason.
   */
  readonly signal: AbortSignal
  /**
   * @throws LockLostError when the lease was lost.
   * @throws LockUsageError when it was released.
   */
  assertHeld(): void
  /**
   * Renews now. Throws nothing when the lease goes on.
   * @throws LockLostError when the store does not hold it for this owner any more.
   * @throws StoreUnavailableError when nobody knows; the old deadline stands.
   */
  renew(): Promise<void>
  /**
   * Gives the lock back: `released` when it was ours until now, `lost` when it had ended before.
   * May be repeated.
   * @throws StoreUnavailableError (`RELEASE_UNKNOWN`) when no answer came; the release goes on in
   * the background.
   */
  release(): Promise<'released' | 'lost'>
  /**
   * Runs `work` under this lease, as `lock.run` does, so that nested runs know of it. Does not
   * release.
   */
  run<T>(work: (lease: Lease<F>) => T | PromiseLike<T>): Promise<T>
  /** Adds to what `inspect` shows, and waits until the store has it. Throws as `renew` does. */
  annotate(note: LeaseNote): Promise<void>
}

/** A writer's lease. */
export interface WriteLease<F extends boolean = boolean> extends Lease<F> {
  /**
   * Goes on as a reader: other readers may join. The way back is refused, since two upgraders would
   * deadlock.
   * @throws LockLostError when the lease has ended.
   */
  downgrade(): Promise<void>
}

/** Who takes a lease back: the local queue it came from, or nobody but the store. */
export interface Releaser {
  giveBack(grant: Grant, nowMs: number): 'released' | 'lost' | Promise<'released' | 'lost'>
}

export class HeldLease implements WriteLease, GrantHolder {
  readonly endsMs: number
  readonly #client: Client
  readonly #place: Place<HeldLease>
  readonly #grant: Grant
  readonly #releaser: Releaser
  readonly #token: bigint | undefined
  readonly #startedMs: number
  #maxHold: Timer | undefined
  #controller: AbortController | undefined
  /**
   * Aborts in the context of whoever asked for the signal, where the listeners are most likely
   * from.
   */
  #abort: ((reason: unknown) => void) | undefined
  #lost: LockLostError | undefined
  #closing: unknown
  #abandoned = false
  #release: 'released' | 'lost' | Promise<'released' | 'lost'> | undefined
  /** How many callbacks run under it; `close` waits for them. */
  #running: Set<Promise<unknown>> | undefined
  /** Called when it is lost or given back. */
  #onOver: (() => void) | undefined

  constructor(
    client: Client,
    grant: Grant,
    token: bigint | undefined,
    nowMs: number,
    maxHoldMs: number,
    from: Releaser,
  ) {
    this.#client = client
    this.#grant = grant
    this.#token = token
    this.#startedMs = nowMs
    this.endsMs = nowMs + maxHoldMs
    this.#releaser = from
    grant.holder = this
    this.#place = client.leases.add(this)
    if (maxHoldMs !== Infinity) this.#watchMaxHold()
  }

  get name(): string {
    return this.#grant.claim.lock
  }

  get claimId(): string {
    return this.#grant.claim.id
  }

  // The type of the token follows the store, which the runtime does not know: `createLocks` gives
  // it.
  get token(): never {
    return this.#token as never
  }

  /** How much of the lock's capacity it takes now. */
  get weight(): number {
    return this.#grant.weight
  }

  get kind(): LockKind {
    return this.#grant.claim.kind
  }

  get capacity(): number {
    return this.#grant.claim.capacity
  }

  get exclusive(): boolean {
    return this.weight === this.capacity
  }

  /** Whether it has neither been released nor reported lost. */
  get open(): boolean {
    return this.#lost === undefined && this.#release === undefined
  }

  get held(): boolean {
    if (this.#lost || this.#release !== undefined) return false
    const nowMs = this.#client.clock.monotonicMs()
    if (nowMs >= this.endsMs) return false
    if (this.#grant.isAlive(nowMs)) return true
    // The clocks parted but the deadline has not come: the store's answer decides.
    if (this.#grant.state === 'held' && nowMs < this.#grant.deadlineMs)
      this.#client.renewals.renewSoon(this.#grant)
    return false
  }

  get remainingMs(): number {
    if (!this.held) return 0
    const endsMs = Math.min(this.#grant.deadlineMs, this.endsMs)
    return Math.max(0, endsMs - this.#client.clock.monotonicMs())
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = (this.#controller = new AbortController())
      const reason = this.#lost ?? this.#closing
      if (reason !== undefined) controller.abort(reason)
      else this.#abort = bindContext((why: unknown) => controller.abort(why))
    }
    return this.#controller.signal
  }

  assertHeld(): void {
    if (this.held) return
    this.#assertNotReleased()
    throw this.lossError()
  }

  async renew(): Promise<void> {
    this.#assertNotOver()
    const result = await this.#client.renewals.renewNow(this.#grant)
    if (result.outcome === 'unknown') throw result.cause
    this.#assertNotOver()
  }

  async annotate(note: LeaseNote): Promise<void> {
    this.#assertNotOver()
    const checked = checkNote(note)
    this.#grant.describeAs({ ...this.#grant.claim.owner, ...checked })
    await this.renew()
  }

  async downgrade(): Promise<void> {
    this.#assertNotOver()
    const grant = this.#grant
    if (grant.claim.kind !== 'readWriteLock') {
      throw new LockUsageError(
        `Only a writer's lease can be downgraded; "${this.name}" is a ${grant.claim.kind}.`,
        {
          lock: this.name,
        },
      )
    }
    const { store } = this.#client
    if (!store.traits.downgrade) {
      throw new UnsupportedLockError(`The ${store.name} store cannot downgrade "${this.name}".`, {
        lock: this.name,
        store: store.name,
      })
    }
    // Before the answer, which may be lost: nobody else of this process must get as a writer what
    // the store has for a reader.
    grant.downgraded = true
    const answer = (async () => store.downgrade(grant.claim))()
    if (!(await this.#client.bounded(answer, this.name, 'the downgrade'))) grant.lose('expired')
    this.#assertNotOver()
    grant.claim = { ...grant.claim, weight: 1 }
  }

  release(): Promise<'released' | 'lost'> {
    return promiseOf(() => this.giveBack())
  }

  /** `release` without a promise where none is needed. */
  giveBack(): 'released' | 'lost' | Promise<'released' | 'lost'> {
    if (this.#release !== undefined) return this.#release
    this.#maxHold?.cancel()
    this.#client.leases.delete(this.#place)
    if (this.#lost) return this.#giveBackLost()
    const nowMs = this.#client.clock.monotonicMs()
    const late = this.#lateness(nowMs)
    this.#grant.holder = undefined
    // Set before the store is asked: a release that is under way must not be believed held, nor
    // asked for twice.
    const outcome = this.#releaser.giveBack(this.#grant, nowMs)
    this.#release = late ? 'lost' : outcome
    if (late) this.#learnOfLoss(late, nowMs)
    this.#onOver?.()
    if (typeof outcome === 'string') this.#releasedAs(outcome, nowMs)
    else {
      outcome.then(
        (settled) => this.#releasedAs(settled, nowMs),
        () => undefined, // whoever awaits the release is told
      )
    }
    return this.#release
  }

  /** Whether it had ended by the clock before it was given back, and of what. */
  #lateness(nowMs: number): 'max-hold' | 'deadline' | undefined {
    if (nowMs >= this.endsMs) return 'max-hold'
    return nowMs >= this.#grant.deadlineMs ? 'deadline' : undefined
  }

  /** @param outcome what the store says; the clock may have said otherwise before */
  #releasedAs(outcome: 'released' | 'lost', nowMs: number): void {
    if (outcome === 'lost' && !this.#lost) this.#learnOfLoss('expired', nowMs)
    this.#announceRelease(this.#lost ? 'lost' : outcome, nowMs)
  }

  /**
   * The release came too late. A holder that blocked the event loop past the deadline is here
   * before the timer that would have told of the loss, which tells nobody any more: the grant is
   * not ours to watch.
   */
  #learnOfLoss(reason: LossReason, nowMs: number): void {
    const { store } = this.#client
    this.#lost = new LockLostError(reason, { lock: this.name, store: store.name })
    this.#announceLoss(reason, nowMs)
    this.#abort?.(this.#lost)
  }

  #announceLoss(reason: LossReason, nowMs: number): void {
    publish('lost', () => ({
      ...this.#client.event(this.#grant.claim),
      reason,
      durationMs: nowMs - this.#startedMs,
    }))
  }

  #announceRelease(outcome: 'released' | 'lost', nowMs: number): void {
    if (!isWatched('released')) return
    publish('released', () => ({
      ...this.#client.event(this.#grant.claim),
      outcome,
      durationMs: nowMs - this.#startedMs,
    }))
  }

  async run<T>(work: (lease: Lease<never>) => T | PromiseLike<T>): Promise<T> {
    return runUnder(this.#client, this, () => work(this))
  }

  /** What `JSON.stringify` writes: the token as a decimal string. */
  toJSON(): object {
    const { name, claimId, held, remainingMs } = this
    return {
      name,
      claimId,
      ...(this.#token === undefined ? {} : { token: String(this.#token) }),
      held,
      remainingMs,
    }
  }

  [INSPECT](): object {
    return this.toJSON()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.releaseQuietly()
  }

  /** Releases for a caller whose own outcome matters more: a failure goes to the events. */
  async releaseQuietly(): Promise<void> {
    try {
      await this.giveBack()
    } catch (error) {
      this.#client.report(this.#grant.claim, 'release', error)
    }
  }

  /**
   * Something that was done under it may come into force later: nobody gets the lock but through
   * the store.
   */
  requireStoreRelease(): void {
    this.#grant.commitPending = true
  }

  /** Asks the store soon whether it still holds the lock for this lease. */
  verifySoon(): void {
    if (this.open) this.#client.renewals.renewSoon(this.#grant)
  }

  /** Whether the lease ended against the holder's will, as far as can be known now. */
  async endedEarly(): Promise<boolean> {
    if (this.#release !== undefined) return false
    if (this.held) return false
    // Only the clocks disagree: ask, and let the answer decide.
    const { state, deadlineMs } = this.#grant
    const nowMs = this.#client.clock.monotonicMs()
    if (!this.#lost && state === 'held' && nowMs < Math.min(deadlineMs, this.endsMs)) {
      await this.#client.renewals.renewNow(this.#grant)
    }
    return !this.held
  }

  lossError(cause?: unknown): LockLostError {
    const nowMs = this.#client.clock.monotonicMs()
    const reason = this.#lost?.reason ?? (nowMs >= this.endsMs ? 'max-hold' : 'deadline')
    const stealReason = this.#lost?.stealReason
    return new LockLostError(reason, {
      lock: this.name,
      store: this.#client.store.name,
      cause,
      stealReason,
    })
  }

  /** Notes a callback that runs under this lease. */
  track(callback: Promise<unknown>): void {
    const entry = callback.then(
      () => undefined,
      () => undefined,
    )
    const running = (this.#running ??= new Set())
    running.add(entry)
    void entry.then(() => running.delete(entry))
  }

  /** Asks the holder to stop, since the client closes. The lease itself goes on. */
  askToStop(reason: unknown): void {
    this.#closing = reason
    this.#abort?.(reason)
  }

  async idle(): Promise<void> {
    if (this.#running) await Promise.all(this.#running)
  }

  get busy(): boolean {
    return this.#running !== undefined && this.#running.size > 0
  }

  /** Resolves when no callback works under it any more, or when it is over whoever does. */
  async whenCallbacksSettled(): Promise<void> {
    if (!this.busy || !this.open) return
    const over = new Promise<void>((resolve) => (this.#onOver = resolve))
    await Promise.race([this.#untilIdle(), over])
  }

  async #untilIdle(): Promise<void> {
    while (this.busy) await this.idle()
  }

  /** Stops renewing, for good, and lets the lease end by itself: code may still run under it. */
  abandon(): void {
    this.#client.leases.delete(this.#place)
    this.#abandoned = true
    this.#client.renewals.stopRenewing(this.#grant)
  }

  /** The grant is gone: tells whoever listens to the signal. */
  onLoss(error: LockLostError): void {
    // Nothing is left to give back, so nothing has to be remembered for one that nobody ever
    // releases.
    const isOver = error.reason === 'deadline' || error.reason === 'expired'
    if (isOver && !this.busy) this.#client.leases.delete(this.#place)
    if (this.#lost || this.#release !== undefined) return
    this.#lost = error
    this.#maxHold?.cancel()
    this.#abort?.(error)
    this.#onOver?.()
  }

  /** The store is told only now that a stolen or overlong lease is not in use any more. */
  #giveBackLost(): 'lost' {
    this.#release = 'lost'
    const { reason } = this.#lost ?? {}
    if (reason === 'stolen') this.#client.withdrawals.inBackground(this.#grant.claim)
    if (reason === 'max-hold' && this.#grant.state === 'held') {
      const handedBack = this.#releaser.giveBack(this.#grant, this.#client.clock.monotonicMs())
      if (typeof handedBack !== 'string') {
        handedBack.catch((error: unknown) =>
          this.#client.report(this.#grant.claim, 'release', error),
        )
      }
    }
    return 'lost'
  }

  /**
   * At the cap the holder is told, renewal stops, and the lock is free when the holder lets go or
   * the TTL ends.
   */
  #watchMaxHold(): void {
    const leftMs = this.endsMs - this.#client.clock.monotonicMs()
    this.#maxHold = this.#client.clock.timer(
      Math.max(0, leftMs - 2),
      () => {
        if (this.#client.clock.monotonicMs() < this.endsMs - 2) {
          this.#watchMaxHold()
          return
        }
        const error = new LockLostError('max-hold', {
          lock: this.name,
          store: this.#client.store.name,
        })
        this.#client.renewals.stopRenewing(this.#grant)
        this.#grant.told = true
        this.#announceLoss('max-hold', this.#client.clock.monotonicMs())
        this.onLoss(error)
      },
      true,
    )
  }

  #assertNotReleased(): void {
    if (this.#lost || this.#release === undefined) return
    throw new LockUsageError(
      `The lease on "${this.name}" was released already; acquire the lock anew.`,
      {
        lock: this.name,
        store: this.#client.store.name,
      },
    )
  }

  #assertNotOver(): void {
    if (this.#lost) throw this.lossError()
    this.#assertNotReleased()
    if (this.#abandoned) this.#client.assertOpen(this.name)
    const nowMs = this.#client.clock.monotonicMs()
    if (nowMs >= this.#grant.deadlineMs || nowMs >= this.endsMs) throw this.lossError()
  }
}
