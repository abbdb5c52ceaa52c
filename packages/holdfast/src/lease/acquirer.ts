/**
 * Acquiring: from what a caller asks for to a lease. Chooses the queue in which a caller waits.
 */
import { LockTimeoutError, UnsupportedLockError } from '../errors.js'
import { hasContexts } from '../async/async-context.js'
import { adoptHandle } from './adopt/export-and-adopt.js'
import type { Client } from './client.js'
import { currentFrame, type Frame } from './nesting/run-frames.js'
import type { Grant } from './grant/grant.js'
import { releaseGrant } from './local-queue/local-hand-off.js'
import { abortBefore } from './hold/early-abort.js'
import { asHeldLease, HeldLease } from './hold/held-lease.js'
import type { GrantReturner } from './release/grant-returner.js'
import {
  ACQUIRE_KEYS,
  RUN_KEYS,
  callSettings,
  type AcquireOptions,
  type LockSettings,
  type RunOptions,
} from '../options/lock-options.js'
import { checkKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import { attemptOnce } from './local-queue/one-attempt.js'
import type { LocalQueue, QueueRegistry } from './local-queue/queue-registry.js'
import { frameToReenter, refuseSelfDeadlock, runInside } from './nesting/reentrancy.js'
import type { AcquireTrace } from './runtime/acquire-trace.js'
import { channels } from './runtime/events.js'
import type { AwaitedClaim } from './runtime/open-waits.js'
import { releaseLate, runAndRelease } from './hold/run-and-release.js'
import type { ClaimTemplate } from './runtime/runtime.js'
import { tracedRun } from './runtime/traces.js'
import { timeoutWithHolders } from './wait/timeout-with-holders.js'
import { limitsOf, STILL_BUSY, type WaitLimits } from './wait/caller-wait.js'

/** The limits of `tryAcquire` without `waitMs`. */
const ONE_ATTEMPT: WaitLimits = { waitMs: 0, outageMs: 0, signal: undefined }

/** A nested run that has begun. */
interface BegunRun {
  readonly startedMs: number
  readonly limits: WaitLimits
  /** Acquires where no frame is left to enter. */
  readonly acquirer: Acquirer
  readonly trace: AcquireTrace | undefined
}

export class Acquirer {
  readonly #client: Client
  readonly #template: ClaimTemplate
  readonly #settings: LockSettings
  /** The local queues of the kind in which callers wait for this lock. */
  readonly #queues: QueueRegistry<LocalQueue>
  readonly #queueKey: string
  /** Whether callers wait in a cohort. */
  readonly #isShared: boolean
  readonly #alone: GrantReturner

  constructor(client: Client, template: ClaimTemplate, settings: LockSettings) {
    assertSupported(client, template)
    this.#client = client
    this.#template = template
    this.#settings = settings
    const exclusive = template.weight === template.capacity
    // Only claims that are alike may pass a lease on: the next holder inherits its TTL.
    const key = `${template.kind}/${template.capacity}/${template.ttlMs}/${template.lock}`
    const passesOn = exclusive && settings.renew
    const { cohorts, fifoQueues, noHandOffQueues } = client
    this.#isShared = passesOn && settings.fairness === 'cohort'
    this.#queueKey = passesOn ? key : `${template.weight}/${key}`
    if (this.#isShared) this.#queues = cohorts
    else if (passesOn) this.#queues = fifoQueues
    else this.#queues = noHandOffQueues[settings.renew ? 'renewed' : 'fixed']
    this.#alone = { returnGrant: (...grant) => releaseGrant(client, ...grant) }
  }

  /** The claim of the caller that has waited longest. */
  get pending(): AwaitedClaim | undefined {
    return this.#queues.find(this.#queueKey)?.pending
  }

  /** Waits for a lease. Without a promise where the store grants it in the same tick. */
  acquire(options?: AcquireOptions, trace?: AcquireTrace): HeldLease | Promise<HeldLease> {
    const { runtime } = this.#client
    runtime.assertOpen(this.#template.lock)
    const limits = this.#limits('acquire', options, trace)
    // Before the first run of the process no context holds a lock.
    if (hasContexts) refuseSelfDeadlock(this.#client, this.#template)
    return (options === undefined ? this : this.#withTerms(options)).#acquire(limits)
  }

  /** Waits up to `waitMs`, by default for one attempt. A busy lock is a value, not an error. */
  async tryAcquire(options?: AcquireOptions, trace?: AcquireTrace): Promise<HeldLease | undefined> {
    this.#client.runtime.assertOpen(this.#template.lock)
    const limits = this.#limits('tryAcquire', options, trace, ONE_ATTEMPT)
    const acquirer = options === undefined ? this : this.#withTerms(options)
    if (limits.waitMs === 0) {
      const lease = await acquirer.#attempt(limits)
      const isReady = !lease || acquirer.#settings.abortBeforeMs === 0
      return isReady || (await acquirer.#abortsEarly(lease)) ? lease : undefined
    }
    if (hasContexts) refuseSelfDeadlock(this.#client, this.#template)
    try {
      return await acquirer.#acquire({ ...limits, isTry: true })
    } catch (reason) {
      if (reason === STILL_BUSY || reason instanceof LockTimeoutError) return undefined
      throw reason
    }
  }

  async #attempt(limits: WaitLimits): Promise<HeldLease | undefined> {
    const { cohorts } = this.#client
    const cohort = this.#isShared ? cohorts.find(this.#queueKey) : undefined
    if (cohort?.busy === true) {
      // They do not know whether it is busy.
      if (cohort.pending?.failure) throw cohort.pending.failure
      return undefined
    }
    const terms = { template: this.#template, renews: this.#settings.renew, limits }
    return attemptOnce(this.#client, terms, (grant, nowMs) =>
      this.#isShared
        ? cohorts
            .get(this.#queueKey, this.#template)
            .startLease(grant, nowMs, this.#settings.maxHoldMs)
        : this.#leaseAlone(grant),
    )
  }

  /** Takes over an exported lease. It is never handed on inside the process. */
  async adopt(handle: unknown): Promise<HeldLease> {
    const { runtime } = this.#client
    const nowMs = runtime.clock.monotonicMs()
    const grant = await adoptHandle(this.#client, this.#template, this.#settings.renew, handle)
    const lease = this.#leaseAlone(grant)
    if (channels.granted.hasSubscribers) {
      const durationMs = runtime.clock.monotonicMs() - nowMs
      runtime.announce('granted', grant.claim, { token: grant.token, durationMs })
    }
    if (runtime.closed) throw await releaseLate(this.#client, lease)
    if (await this.#abortsEarly(lease)) return lease
    throw lease.lossError()
  }

  /** @param trace its owner notes a failure */
  run<T>(
    work: (lease: HeldLease) => T | PromiseLike<T>,
    options?: RunOptions,
    trace?: AcquireTrace,
  ): Promise<T> {
    try {
      const { lock } = this.#template
      if (typeof work !== 'function') throw noFunction(`run of "${lock}"`, work, { lock })
      this.#client.runtime.assertOpen(lock)
      const limits = this.#limits('run', options, trace)
      const acquirer = options === undefined ? this : this.#withTerms(options)
      const frame = frameToReenter(this.#client, this.#template, this.#settings.reentrant)
      const startedMs = this.#client.runtime.clock.monotonicMs()
      return frame
        ? this.#runInside(frame, { startedMs, limits, acquirer, trace }, work)
        : acquirer.#runUnder(() => acquirer.#acquire(limits), work, trace)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Runs `work` inside a frame of this lock, or under its own lease if the frame dies first. */
  async #runInside<T>(
    frame: Frame,
    { startedMs, limits, acquirer, trace }: BegunRun,
    work: (lease: HeldLease) => T | PromiseLike<T>,
  ): Promise<T> {
    trace?.start()
    const begun = { template: this.#template, limits, startedMs }
    const inside = await runInside(this.#client, frame, begun, (outer) => {
      const lease = asHeldLease(outer)
      trace?.grant(lease)
      return tracedRun(this.#client.runtime, lease, () => work(lease))()
    })
    if (inside) return inside.value
    return acquirer.#runUnder(() => acquirer.#acquireAfter(startedMs, limits), work, trace)
  }

  #runUnder<T>(
    acquire: () => HeldLease | Promise<HeldLease>,
    work: (lease: HeldLease) => T | PromiseLike<T>,
    trace: AcquireTrace | undefined,
  ): Promise<T> {
    const { awaitRelease } = this.#settings
    const lease = trace ? trace.enter(acquire) : acquire()
    return runAndRelease(this.#client, lease, work, { awaitRelease, trace })
  }

  #limits(
    call: string,
    options: AcquireOptions | undefined,
    trace: AcquireTrace | undefined,
    defaults: WaitLimits = this.#client.waitLimits,
  ): WaitLimits {
    if (options === undefined) return trace ? { ...defaults, trace } : defaults
    const { lock } = this.#template
    checkKeys(call, options, call === 'run' ? RUN_KEYS : ACQUIRE_KEYS, { lock })
    const limits = limitsOf(lock, options, defaults)
    return trace ? { ...limits, trace } : limits
  }

  /**
   * Returns the acquirer for the terms of one call. Claims with different terms are not
   * interchangeable, so their callers wait in queues of their own.
   */
  #withTerms(options: RunOptions): Acquirer {
    const client = this.#client
    const settings = callSettings(options, this.#settings, client.runtime.store)
    if (!settings) return this
    return new Acquirer(client, { ...this.#template, ttlMs: settings.ttlMs }, settings)
  }

  /** Acquires a lease that lasts for longer than `abortBeforeMs`. */
  async #acquireWhole(limits: WaitLimits): Promise<HeldLease> {
    const startedMs = this.#client.runtime.clock.monotonicMs()
    const lease = await this.#acquire(limits, true)
    return (await this.#abortsEarly(lease)) ? lease : this.#acquireAfter(startedMs, limits)
  }

  /**
   * Lets the signal abort early, if so chosen. Resolves to false when the lease was lost.
   * @throws LockUsageError (`LOCKS_CLOSED`) when the client was closed meanwhile. The close
   * releases the lease.
   */
  async #abortsEarly(lease: HeldLease): Promise<boolean> {
    const { abortBeforeMs } = this.#settings
    if (abortBeforeMs === 0) return true
    const lasts = await abortBefore(lease, abortBeforeMs)
    const { runtime } = this.#client
    if (runtime.closed) throw runtime.closedError(this.#template.lock)
    return lasts
  }

  /** @param isWhole whether any grant lasts long enough for the signal */
  #acquire(
    limits: WaitLimits,
    isWhole = this.#settings.abortBeforeMs === 0,
  ): HeldLease | Promise<HeldLease> {
    if (!isWhole) return this.#acquireWhole(limits)
    if (limits.waitMs === 0) return this.#acquireNow(limits)
    const nowMs = this.#client.runtime.clock.monotonicMs()
    const frame = hasContexts ? currentFrame() : undefined
    if (frame) {
      const { weight, capacity } = this.#template
      limits = { ...limits, nested: { frame, weight, capacity } }
    }
    const queue = this.#queues.get(this.#queueKey, this.#template)
    const { maxHoldMs, maxWaiters } = this.#settings
    if (maxWaiters === Infinity) return queue.enter(limits, nowMs, maxHoldMs)
    return this.#client.waiters.admit(this.#template.lock, maxWaiters, () =>
      queue.enter(limits, nowMs, maxHoldMs),
    )
  }

  /** Acquires with what is left of the limits after an earlier wait. */
  async #acquireAfter(startedMs: number, limits: WaitLimits): Promise<HeldLease> {
    const { waitMs, signal } = limits
    signal?.throwIfAborted()
    const goneMs = this.#client.runtime.clock.monotonicMs() - startedMs
    try {
      return await this.#acquire({ ...limits, waitMs: Math.max(0, waitMs - goneMs) })
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error
      throw await timeoutWithHolders(this.#client.runtime, waitMs, error)
    }
  }

  async #acquireNow(limits: WaitLimits): Promise<HeldLease> {
    const lease = await this.#attempt(limits)
    if (lease) return lease
    throw new LockTimeoutError(0, {
      lock: this.#template.lock,
      store: this.#client.runtime.store.name,
    })
  }

  #leaseAlone(grant: Grant): HeldLease {
    this.#client.renewals.add(grant)
    const nowMs = this.#client.runtime.clock.monotonicMs()
    return new HeldLease(this.#client, grant, nowMs, this.#settings.maxHoldMs, this.#alone)
  }
}

function assertSupported(client: Client, template: ClaimTemplate): void {
  const { store } = client.runtime
  if (store.traits.kinds.includes(template.kind)) return
  throw new UnsupportedLockError(
    `The ${store.name} store has no ${template.kind} ("${template.lock}"); it offers: ${store.traits.kinds.join(', ')}.`,
    { lock: template.lock, store: store.name },
  )
}
