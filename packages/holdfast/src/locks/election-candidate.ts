/** A candidate of an election, over a mutex. */
import type { EventEmitter } from 'node:events'
import { LockLostError, LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { AcquireTrace } from '../lease/runtime/acquire-trace.js'
import type { Lease } from '../lease/hold/lease.js'
import { checkKeys } from '../options/known-keys.js'
import { noFunction } from '../options/no-function.js'
import { WAIT_KEYS, type WaitOptions } from '../options/lock-options.js'
import { limitsOf, CallerWait } from '../lease/wait/caller-wait.js'
import { leadUntilDone, type Candidate } from './lead.js'
import { signalOf, type ElectionEvents, type LeadOptions } from './election.js'
import type { BasicLock } from './lock.js'

/** One attempt to lead, and the callers that wait for it. */
interface Campaign {
  readonly stop: AbortController
  readonly callers: Set<CallerWait<HeldLease>>
  /** A campaign that tries once has no place in the queue: no caller joins it. */
  readonly waits: boolean
}

export class ElectionCandidate {
  readonly name: string
  readonly #client: Client
  readonly #lock: BasicLock
  /** Has the listeners of user code. */
  readonly #emitter: EventEmitter
  /** The running campaigns: at most one that waits, and those that try once. */
  readonly #campaigns = new Set<Campaign>()
  #lease: HeldLease | undefined
  /** The leadership that the signal of `lead` ends: no loss. */
  #stopped: HeldLease | undefined
  #isInLead = false
  /**
   * The leadership that was lost last, until this candidate lets go of it: the store may wait for
   * that.
   */
  #lostLease: HeldLease | undefined

  constructor(client: Client, lock: BasicLock, emitter: EventEmitter) {
    this.name = lock.name
    this.#client = client
    this.#lock = lock
    this.#emitter = emitter
  }

  /** The present leadership. */
  get lease(): Lease | undefined {
    return this.#lease
  }

  campaign(options?: WaitOptions): Promise<HeldLease> {
    const trace = this.#lock.trace(options)
    return trace
      ? trace.acquire(() => this.#campaign(options, trace))
      : this.#campaign(options, undefined)
  }

  async #campaign(options: WaitOptions = {}, trace: AcquireTrace | undefined): Promise<HeldLease> {
    checkKeys('campaign', options, WAIT_KEYS, { lock: this.name })
    const limits = limitsOf(this.name, options, this.#client.waitLimits)
    const { waitMs } = limits
    if (this.#lease?.held === true) return this.#lease
    const { runtime } = this.#client
    // One attempt takes as long as it takes, so it has no timer.
    const wait = new CallerWait<HeldLease>(runtime, this.name, runtime.clock.monotonicMs(), {
      ...limits,
      waitMs: waitMs === 0 ? Infinity : waitMs,
      trace,
    })
    wait.source = this.#lock
    const found = waitMs === 0 ? undefined : Array.from(this.#campaigns).find(({ waits }) => waits)
    const campaign: Campaign = found ?? {
      stop: new AbortController(),
      callers: new Set(),
      waits: waitMs !== 0,
    }
    campaign.callers.add(wait)
    wait.onGiveUp = () => this.#leave(campaign, wait)
    if (!found) void this.#run(campaign)
    return wait.promise
  }

  async #run(campaign: Campaign): Promise<void> {
    const { stop, callers, waits } = campaign
    const options = { waitMs: waits ? Infinity : 0, signal: stop.signal }
    this.#campaigns.add(campaign)
    try {
      let lease = await this.#lock.acquireUntraced(options)
      // The process may have been stopped since the grant, and a lease that has ended makes no
      // leader.
      while (!lease.held && !stop.signal.aborted) {
        await lease[Symbol.asyncDispose]()
        lease = await this.#lock.acquireUntraced(options)
      }
      if (stop.signal.aborted) {
        // The grant was on its way here when the campaign ended.
        await lease[Symbol.asyncDispose]()
        throw stop.signal.reason
      }
      this.#lead(lease)
    } catch (error) {
      for (const wait of callers) wait.fail(error)
    } finally {
      this.#campaigns.delete(campaign)
    }
  }

  /** A caller gives up; with the last one the campaign ends. */
  #leave(campaign: Campaign, wait: CallerWait<HeldLease>): void {
    campaign.callers.delete(wait)
    if (campaign.callers.size === 0) this.#end(campaign)
  }

  /** Ends a campaign: no caller joins it, and a later grant is released. */
  #end(campaign: Campaign, reason?: LockUsageError): void {
    this.#campaigns.delete(campaign)
    if (reason) for (const { trace } of campaign.callers) if (trace) trace.isResigned = true
    campaign.stop.abort(reason)
  }

  #lead(lease: HeldLease): void {
    const former = this.#lease
    this.#letGoOfLost()
    this.#lease = lease
    lease.signal.addEventListener('abort', () => this.#ended(lease), { once: true })
    // All campaigns of this candidate are won with this one.
    for (const campaign of this.#campaigns) {
      const callers = [...campaign.callers]
      campaign.callers.clear()
      this.#end(campaign)
      for (const wait of callers) wait.serve(lease)
    }
    // Last, since a listener may resign. It runs before the callers of `campaign` continue.
    if (former) this.#emitLateLoss(former)
    this.#emit('elected', lease, lease)
  }

  /**
   * Emits the loss of a former lease whose signal has not aborted. After a pause a grant may come
   * in the same tick as the timer of that signal, and before it. Later the lease is not the present
   * one, and its loss would go unseen.
   */
  #emitLateLoss(lease: HeldLease): void {
    if (!lease.signal.aborted) this.#emitLoss(lease, lease.lossError())
  }

  async lead<T>(work: (lease: Lease) => T | PromiseLike<T>, options: LeadOptions = {}): Promise<T> {
    const signal = signalOf('lead', this.#client, this.name, options)
    if (typeof work !== 'function')
      throw noFunction(`lead of the election "${this.name}"`, work, { lock: this.name })
    if (this.#isInLead) throw this.#usage('leads for another call of lead(); wait for that one.')
    this.#isInLead = true
    try {
      return await leadUntilDone(this.#candidate(), work, signal)
    } finally {
      this.#isInLead = false
    }
  }

  #candidate(): Candidate {
    return {
      campaign: (signal) => this.campaign({ waitMs: Infinity, ...(signal && { signal }) }),
      stop: (lease, reason) => {
        this.#stopped = lease
        lease.askToStop(reason)
      },
      leave: async (lease) => {
        try {
          if (this.#lease === lease) await this.resign()
        } catch (error) {
          // The outcome of the work matters more, and the release continues.
          const claim = { lock: this.name, kind: lease.kind, id: lease.claimId }
          this.#client.runtime.report(claim, 'release', error)
        }
        await lease.releaseQuietly()
      },
    }
  }

  #usage(text: string): LockUsageError {
    return new LockUsageError(`The election "${this.name}" ${text}`, { lock: this.name })
  }

  async resign(): Promise<boolean> {
    const reason = new LockUsageError(
      `The campaign for "${this.name}" ended: resign() was called.`,
      {
        lock: this.name,
      },
    )
    for (const campaign of this.#campaigns) this.#end(campaign, reason)
    this.#letGoOfLost()
    const lease = this.#lease
    if (!lease) return false
    this.#lease = undefined
    // An aborted signal has emitted the loss already.
    const isLossEmitted = lease.signal.aborted && lease !== this.#stopped
    let outcome: 'released' | 'lost'
    try {
      outcome = await lease.release()
    } catch (error) {
      // The release continues, and this candidate does not lead in any case.
      if (!isLossEmitted) this.#emit('resigned', lease)
      throw error
    }
    if (outcome === 'released') this.#emit('resigned', lease)
    else if (!isLossEmitted) this.#emitLoss(lease, lease.signal.reason)
    return outcome === 'released'
  }

  /** The lease was lost, or the client closes: in both cases the leader has to step down. */
  #ended(lease: HeldLease): void {
    if (this.#lease !== lease || this.#stopped === lease) return
    const { reason } = lease.signal as { reason: unknown }
    if (reason instanceof LockLostError) {
      this.#lease = undefined
      this.#lostLease = lease
    }
    this.#emitLoss(lease, reason)
  }

  #letGoOfLost(): void {
    const lease = this.#lostLease
    this.#lostLease = undefined
    // It is lost in any case, so no caller waits for the store's answer.
    void lease?.[Symbol.asyncDispose]()
  }

  #emitLoss(lease: HeldLease, error: unknown): void {
    this.#emit('lost', lease, error)
  }

  /**
   * Publishes the event and calls the listeners. Node reports a listener that throws as an uncaught
   * exception; the caller of `campaign` or `resign` does not see it.
   */
  #emit<E extends keyof ElectionEvents>(
    event: E,
    lease: HeldLease,
    ...args: ElectionEvents[E]
  ): void {
    const [error] = event === 'lost' ? args : []
    const { token } = lease
    const fields = { change: event, token, ...(error === undefined ? {} : { error }) }
    this.#client.runtime.announce('election', lease.grant.claim, fields)
    for (const listener of this.#emitter.listeners(event)) {
      try {
        Reflect.apply(listener, undefined, args)
      } catch (error) {
        process.nextTick(() => {
          throw error
        })
      }
    }
  }
}
