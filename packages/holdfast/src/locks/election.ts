/**
 * Leader election: of many candidates one leads, until it resigns or loses its lease.
 *
 * A leader is simply whoever holds the lock, so everything that is true of a lease is true of leadership: it can be lost
 * at any time, `signal` tells of it by the deadline, and the token tells an old leader from a new one.
 */
import { EventEmitter } from 'node:events'
import { LockLostError, LockUsageError } from '../errors.js'
import type { Lease } from '../lease/lease.js'
import type { AcquireOptions } from '../lease/settings.js'
import type { HolderInfo } from '../store/contract.js'
import type { Lockable } from './lock.js'

export interface ElectionEvents<F extends boolean = boolean> {
  /** This candidate leads from now on. */
  elected: [lease: Lease<F>]
  /** This candidate led and does not any more, against its will. */
  lost: [error: unknown]
  /** This candidate gave its leadership back. */
  resigned: []
}

export interface Election<F extends boolean = boolean> {
  readonly name: string
  /** Whether this candidate leads. Right even after a pause. */
  readonly isLeader: boolean
  /** The token of the present leadership; undefined when there is none, or the store does not fence. */
  readonly token: bigint | undefined
  /** Aborts when the present leadership ends; undefined when there is none. */
  readonly signal: AbortSignal | undefined
  /**
   * Waits until this candidate leads. Joins the campaign that is under way, and answers at once when it leads already.
   * @throws LockTimeoutError when `waitMs` passes first. Throws otherwise as `mutex.acquire` does.
   */
  campaign(options?: AcquireOptions): Promise<Lease<F>>
  /** Gives the leadership back, or ends a campaign. Resolves to whether there was a leadership to give back. */
  resign(): Promise<boolean>
  /** Who leads now, as the store sees it. */
  leader(): Promise<HolderInfo | undefined>
  on<E extends keyof ElectionEvents>(event: E, listener: (...args: ElectionEvents<F>[E]) => void): () => void
}

export class LockElection<F extends boolean> implements Election<F> {
  readonly name: string
  readonly #lock: Lockable<Lease<F>>
  readonly #holders: () => Promise<readonly HolderInfo[]>
  readonly #emitter = new EventEmitter()
  #lease: Lease<F> | undefined
  #campaign: { readonly promise: Promise<Lease<F>>; readonly stop: AbortController } | undefined

  constructor(lock: Lockable<Lease<F>>, holders: () => Promise<readonly HolderInfo[]>) {
    this.name = lock.name
    this.#lock = lock
    this.#holders = holders
  }

  get isLeader(): boolean {
    return this.#lease?.held ?? false
  }

  get token(): bigint | undefined {
    return this.#lease?.held === true ? this.#lease.token : undefined
  }

  get signal(): AbortSignal | undefined {
    return this.#lease?.signal
  }

  async campaign(options: AcquireOptions = {}): Promise<Lease<F>> {
    if (this.#lease?.held === true) return this.#lease
    if (this.#campaign) return this.#campaign.promise
    const stop = new AbortController()
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal
    const promise = this.#run({ ...options, signal })
    this.#campaign = { promise, stop }
    return promise
  }

  async #run(options: AcquireOptions): Promise<Lease<F>> {
    try {
      const lease = await this.#lock.acquire(options)
      this.#lease = lease
      lease.signal.addEventListener('abort', () => this.#ended(lease), { once: true })
      this.#emit('elected', lease)
      return lease
    } finally {
      this.#campaign = undefined
    }
  }

  async resign(): Promise<boolean> {
    this.#campaign?.stop.abort(
      new LockUsageError(`The campaign for "${this.name}" ended: resign() was called.`, { lock: this.name }),
    )
    const lease = this.#lease
    if (!lease) return false
    this.#lease = undefined
    const outcome = await lease.release()
    this.#emit('resigned')
    return outcome === 'released'
  }

  async leader(): Promise<HolderInfo | undefined> {
    return (await this.#holders())[0]
  }

  on<E extends keyof ElectionEvents>(
    event: E,
    listener: (...args: ElectionEvents<F>[E]) => void,
  ): () => void {
    const untyped = listener as (...args: unknown[]) => void
    this.#emitter.on(event, untyped)
    return () => void this.#emitter.off(event, untyped)
  }

  /** The lease was lost, or the client closes: in both cases the leader has to step down. */
  #ended(lease: Lease<F>): void {
    if (this.#lease !== lease) return
    const { reason } = lease.signal as { reason: unknown }
    if (reason instanceof LockLostError) this.#lease = undefined
    this.#emit('lost', reason)
  }

  /** A listener that throws is reported by Node, as an uncaught exception, and not to whoever campaigns or resigns. */
  #emit<E extends keyof ElectionEvents>(event: E, ...args: ElectionEvents<F>[E]): void {
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
