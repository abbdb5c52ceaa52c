/** An election over a mutex. */
import { EventEmitter } from 'node:events'
import { bindContext } from '../async/async-context.js'
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import type { Lease } from '../lease/hold/lease.js'
import { describe } from '../options/describe.js'
import { checkNoOptions } from '../options/known-keys.js'
import type { WaitOptions } from '../options/lock-options.js'
import type { HolderInfo } from '../store/contract.js'
import { ElectionCandidate } from './election-candidate.js'
import { signalOf, type Election, type ElectionEvents, type LeadOptions } from './election.js'
import type { BasicLock } from './lock.js'
import { observeLeaders, type Leadership } from './observe.js'

const EVENTS: readonly (keyof ElectionEvents)[] = ['elected', 'lost', 'resigned']

export class LockElection implements Election {
  readonly name: string
  readonly #client: Client
  readonly #holders: () => Promise<readonly HolderInfo[]>
  readonly #emitter = new EventEmitter()
  readonly #candidate: ElectionCandidate

  constructor(client: Client, lock: BasicLock, holders: () => Promise<readonly HolderInfo[]>) {
    this.name = lock.name
    this.#client = client
    this.#holders = holders
    this.#candidate = new ElectionCandidate(client, lock, this.#emitter)
  }

  get isLeader(): boolean {
    return this.#candidate.lease?.held ?? false
  }

  get token(): bigint | undefined {
    return this.isLeader ? this.#candidate.lease?.token : undefined
  }

  get signal(): AbortSignal | undefined {
    return this.#candidate.lease?.signal
  }

  campaign(options?: WaitOptions): Promise<Lease> {
    return this.#candidate.campaign(options)
  }

  lead<T>(work: (lease: Lease) => T | PromiseLike<T>, options?: LeadOptions): Promise<T> {
    return this.#candidate.lead(work, options)
  }

  async resign(extra?: unknown): Promise<boolean> {
    checkNoOptions('resign', extra, { lock: this.name })
    return this.#candidate.resign()
  }

  async leader(extra?: unknown): Promise<HolderInfo | undefined> {
    checkNoOptions('leader', extra, { lock: this.name })
    return (await this.#holders())[0]
  }

  observe(options: LeadOptions = {}): AsyncIterableIterator<Leadership> {
    const signal = signalOf('observe', this.#client, this.name, options)
    return observeLeaders(this.#client.runtime, this.name, this.#holders, signal)
  }

  on<E extends keyof ElectionEvents>(
    event: E,
    listener: (...args: ElectionEvents[E]) => void,
    extra?: unknown,
  ): () => void {
    checkNoOptions('on', extra, { lock: this.name })
    if (!EVENTS.includes(event)) {
      throw new LockUsageError(
        `The election "${this.name}" knows the events ${EVENTS.join(', ')}, not ${describe(event)}.`,
        { lock: this.name },
      )
    }
    if (typeof listener !== 'function') {
      throw new LockUsageError(
        `The election "${this.name}" needs a function to call for the event ${event}.`,
        { lock: this.name },
      )
    }
    // In the context of the listener, not of the caller of `campaign`, whose locks it would
    // re-enter.
    const untyped = bindContext(listener as (...args: unknown[]) => void)
    this.#emitter.on(event, untyped)
    return () => void this.#emitter.off(event, untyped)
  }
}
