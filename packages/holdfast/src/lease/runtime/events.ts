/**
 * What happens to leases, published through `node:diagnostics_channel`. The names and messages are
 * public. A message is built only if its channel has subscribers.
 */
import { channel, type Channel } from 'node:diagnostics_channel'
import type { LossReason } from '../../errors.js'
import type { LockKind } from '../../store/contract.js'
import { withJson } from '../../store/with-json.js'
import { detached } from '../../async/async-context.js'

/** The fields of every message. */
export interface LockEvent {
  /** The full name of the lock. */
  readonly lock: string
  /** The kind of the lock. An election and each stripe is a mutex. */
  readonly kind: LockKind
  /** The name of the store, such as `redis`. */
  readonly store: string
  /** The client: one `createLocks` call. */
  readonly clientId: string
  /** The claim that the event is about. */
  readonly claimId: string
}

/** A call that got no lease. */
export interface NoLeaseEvent extends Omit<LockEvent, 'claimId'> {
  /**
   * The claim of the caller. Undefined where the client answered the call itself: a caller of this
   * client has the lock, or waits for it.
   */
  readonly claimId: string | undefined
  /** How long the call took, in milliseconds. */
  readonly durationMs: number
}

/** The fields of an event that is about the whole client. */
export type ClientEvent = Pick<LockEvent, 'store' | 'clientId'>

/** The events and their messages. Their channels are named `holdfast:NAME`. */
export interface LockEvents {
  /** An attempt was answered. `durationMs`: from sending it. */
  attempted: LockEvent & { readonly outcome: string; readonly durationMs: number }
  /** The claim joined the store's queue. */
  queued: LockEvent
  /** A lease begins, by `adopt` too. `durationMs`: from asking for it. */
  granted: LockEvent & { readonly token: bigint; readonly durationMs: number }
  /**
   * A lease passed to the next waiter of this process without a call to the store. `durationMs`:
   * its wait.
   */
  'handed-off': LockEvent & { readonly token: bigint; readonly durationMs: number }
  /** The lock was taken, and the call does not wait: `tryAcquire`, or `waitMs: 0`. */
  busy: NoLeaseEvent
  /** The `waitMs` of a caller passed before its grant. */
  'timed-out': NoLeaseEvent
  /** A signal, `close` or `resign` ended a call before its grant. */
  aborted: NoLeaseEvent
  /** A renewal was acknowledged. `durationMs`: from sending it. */
  renewed: LockEvent & { readonly durationMs: number }
  /** The outcome of a renewal is unknown. The old deadline stands, and the renewal is repeated. */
  'renewal-unknown': LockEvent & { readonly error: unknown }
  /**
   * The last renewal is unacknowledged, and less than half the TTL is left. The client repeats the
   * renewal until the deadline. Once, until `safe`. `remainingMs`: until the deadline.
   */
  'at-risk': LockEvent & { readonly remainingMs: number }
  /** A renewal got through after `at-risk`. `remainingMs`: until the new deadline. */
  safe: LockEvent & { readonly remainingMs: number }
  /**
   * The object of a held lease was garbage-collected, without a release. The client still renews
   * the lease. `durationMs`: since the grant. `acquiredAt`: the stack of the call, if the client
   * has `traceAcquires`.
   */
  forgotten: LockEvent & { readonly durationMs: number; readonly acquiredAt?: string }
  /**
   * A caller has waited for ten seconds for a lock that this client holds by a plain `acquire`.
   * This may be a self-deadlock. `durationMs`: of the wait. `acquiredAt`: as in `forgotten`.
   */
  'self-wait': LockEvent & { readonly durationMs: number; readonly acquiredAt?: string }
  /** A lease ended before its holder released it. `durationMs`: how long it was held. */
  lost: LockEvent & { readonly reason: LossReason; readonly durationMs: number }
  /**
   * A lease was released. `lost`: too late, after the event `lost`. `durationMs`: how long it was
   * held.
   */
  released: LockEvent & { readonly outcome: 'released' | 'lost'; readonly durationMs: number }
  /**
   * `export` ended a lease here: its handle stands for it now. `durationMs`: how long it was held.
   */
  exported: LockEvent & { readonly durationMs: number }
  /**
   * A candidate of this client leads from now on (`elected`), or gave its leadership back
   * (`resigned`). `lost`: it leads no more against its will, and `error` says why.
   */
  election: LockEvent & {
    readonly change: 'elected' | 'lost' | 'resigned'
    readonly token: bigint
    readonly error?: unknown
  }
  /**
   * A caller waits for a lock, and the store has not answered for a second. The client keeps
   * sending the attempt. Once for each claim and outage. `durationMs`: how long requests have
   * failed. `error`: the last failure.
   */
  'store-unavailable': LockEvent & { readonly error: unknown; readonly durationMs: number }
  /**
   * The worker thread of `renewFrom: 'worker'` has ended. The leases continue, and only the main
   * thread renews them from now on.
   */
  'helper-lost': ClientEvent & { readonly error: unknown }
  /** A request failed in the background, where no caller waits for it. */
  error: LockEvent & {
    readonly during: 'release' | 'withdraw' | 'watch' | 'close'
    readonly error: unknown
  }
}

/** The name of an event, as the channel has it behind `holdfast:`. */
export type LockEventName = keyof LockEvents

/** The name of the diagnostics channel of an event. */
export function channelName(event: LockEventName): string {
  return `holdfast:${event}`
}

export const EVENT_NAMES: readonly LockEventName[] = [
  'attempted',
  'queued',
  'granted',
  'handed-off',
  'busy',
  'timed-out',
  'aborted',
  'renewed',
  'renewal-unknown',
  'at-risk',
  'safe',
  'forgotten',
  'self-wait',
  'lost',
  'released',
  'exported',
  'election',
  'store-unavailable',
  'helper-lost',
  'error',
]

/** Frequent publishers read `hasSubscribers` first, so that they need not make the fields. */
export const channels = Object.fromEntries(
  EVENT_NAMES.map((name) => [name, channel(channelName(name))]),
) as Readonly<Record<LockEventName, Channel>>

const allChannels = Object.values(channels)

/** Whether any event has subscribers. */
export function hasListeners(): boolean {
  for (const { hasSubscribers } of allChannels) if (hasSubscribers) return true
  return false
}

/**
 * Publishes an event. Subscribers run outside the current async context, so they cannot re-enter
 * its locks. Node reports a subscriber that throws, and the caller does not see it.
 */
export function publish<N extends LockEventName>(event: N, message: LockEvents[N]): void {
  detached(() => channels[event].publish(withJson(message)))
}
