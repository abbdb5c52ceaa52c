/**
 * Leader election: of many candidates one leads, until it resigns or loses its lease.
 *
 * The leader is the holder of the lock, so leadership is a lease. It can be lost at any time, and
 * `signal` aborts by the deadline. The token distinguishes an old leader from a new one.
 */
import type { Client } from '../lease/client.js'
import type { Lease } from '../lease/hold/lease.js'
import { limitsOf } from '../lease/wait/caller-wait.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { WaitOptions } from '../options/lock-options.js'
import type { HolderInfo } from '../store/contract.js'
import type { Leadership } from './observe.js'

/** The events of an election, by name, with what their listeners are given. */
export interface ElectionEvents {
  /** This candidate leads from now on. */
  elected: [lease: Lease]
  /**
   * This candidate led and does not any more, against its will. A leadership that was stolen, or
   * reached `maxHoldMs`, still keeps others out for up to a TTL. In this time the work has to stop.
   * `resign()` reports that it has stopped.
   */
  lost: [error: unknown]
  /** This candidate gave its leadership back. */
  resigned: []
}

/** A candidate that campaigns for a leadership, leads, and resigns. */
export interface Election {
  /** The full name, namespace included. */
  readonly name: string
  /** Whether this candidate leads. Right even after a pause. */
  readonly isLeader: boolean
  /**
   * The token of the present leadership; undefined when there is none, or the store does not fence.
   */
  readonly token: bigint | undefined
  /** Aborts when the present leadership ends; undefined when there is none. */
  readonly signal: AbortSignal | undefined
  /**
   * Waits until this candidate leads. Joins the campaign that runs already, and resolves at once
   * when the candidate leads. The options are this caller's own: the campaign continues as long as
   * a caller waits for it.
   * @throws LockTimeoutError when `waitMs` passes first. Throws otherwise as `mutex.acquire` does.
   */
  campaign(options?: WaitOptions): Promise<Lease>
  /**
   * Runs `work` while this candidate leads: campaigns, and again after a loss. Resolves with what
   * `work` returns, once it has resigned; rejects with what it throws. When the signal aborts, the
   * signal of the lease does too: the call waits for `work`, resigns, and rejects with
   * `signal.reason`. One call at a time.
   * @throws LockUsageError while another call of this candidate leads, or after `resign()`.
   * Otherwise as `campaign` does.
   */
  lead<T>(work: (lease: Lease) => T | PromiseLike<T>, options?: LeadOptions): Promise<T>
  /**
   * Returns the leaders as they change, the present one first. It inspects the store about once a
   * second, so a leadership of less than that may go unseen, and continues after an outage. The
   * loop ends with `break`, or rejects with `signal.reason`, or when the client closes.
   * @throws UnsupportedLockError on stores without `inspect`.
   */
  observe(options?: LeadOptions): AsyncIterableIterator<Leadership>
  /**
   * Releases the leadership, or ends a campaign, or lets go of a leadership that was lost. Resolves
   * to whether there was a leadership to release.
   */
  resign(): Promise<boolean>
  /** Returns the present leader, as the store sees it. */
  leader(): Promise<HolderInfo | undefined>
  /**
   * Listens to one kind of event. Returns a function that stops it.
   * @throws LockUsageError for an unknown event, or without a function.
   */
  on<E extends keyof ElectionEvents>(
    event: E,
    listener: (...args: ElectionEvents[E]) => void,
  ): () => void
}

/** The options of `lead` and of `observe`. */
export interface LeadOptions {
  /** Ends the call: it rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
}

const LEAD_KEYS: KnownKeys<LeadOptions> = { signal: 1 }

/** @throws LockUsageError when the options of the call make no sense. */
export function signalOf(
  call: string,
  { waitLimits }: Client,
  name: string,
  options: LeadOptions,
): AbortSignal | undefined {
  checkKeys(call, options, LEAD_KEYS, { lock: name })
  return limitsOf(name, options, waitLimits).signal
}
