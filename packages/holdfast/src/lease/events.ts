/**
 * What happens to leases, published through `node:diagnostics_channel`. The names and messages are
 * public.
 *
 * Nobody pays for a channel without subscribers: messages are built only when somebody listens.
 */
import { channel, type Channel } from 'node:diagnostics_channel'
import { LockUsageError, type LossReason } from '../errors.js'
import { withJson } from '../store/with-json.js'
import { detached } from './async-context.js'
import { describe } from './options.js'

/** What every message says. */
export interface LockEvent {
  /** The full name of the lock. */
  readonly lock: string
  readonly store: string
  readonly clientId: string
  readonly claimId: string
}

export interface LockEvents {
  /** An attempt was answered. `durationMs`: from sending it. */
  attempted: LockEvent & { readonly outcome: string; readonly durationMs: number }
  /** The claim joined the store's queue. */
  queued: LockEvent
  /** A lease begins. `durationMs`: from asking for it. */
  granted: LockEvent & { readonly token: bigint | undefined; readonly durationMs: number }
  /**
   * A lease passed to the next waiter of this process without a call to the store. `durationMs`:
   * its wait.
   */
  'handed-off': LockEvent & { readonly token: bigint | undefined; readonly durationMs: number }
  /** A renewal was acknowledged. `durationMs`: from sending it. */
  renewed: LockEvent & { readonly durationMs: number }
  /** The outcome of a renewal is not known; the old deadline stands and the renewal is repeated. */
  'renewal-unknown': LockEvent & { readonly error: unknown }
  /** A lease ended before its holder released it. `durationMs`: how long it was held. */
  lost: LockEvent & { readonly reason: LossReason; readonly durationMs: number }
  /**
   * A lease was released. `lost`: too late, of which there was a `lost` before. `durationMs`: how
   * long it was held.
   */
  released: LockEvent & { readonly outcome: 'released' | 'lost'; readonly durationMs: number }
  /**
   * A caller waits for a lock, and the store has not answered for a second. Its attempt goes on
   * being sent. Once for each claim and outage. `durationMs`: for how long requests have failed.
   * `error`: the last failure.
   */
  'store-unavailable': LockEvent & { readonly error: unknown; readonly durationMs: number }
  /** Something failed in the background, where no caller could be told. */
  error: LockEvent & {
    readonly during: 'release' | 'withdraw' | 'watch' | 'close'
    readonly error: unknown
  }
}

export type LockEventName = keyof LockEvents

/** The name of the diagnostics channel of an event. */
export function channelName(event: LockEventName): string {
  return `holdfast:${event}`
}

const NAMES: readonly LockEventName[] = [
  'attempted',
  'queued',
  'granted',
  'handed-off',
  'renewed',
  'renewal-unknown',
  'lost',
  'released',
  'store-unavailable',
  'error',
]

const channels = Object.fromEntries(
  NAMES.map((name) => [name, channel(channelName(name))]),
) as Record<LockEventName, Channel>

/**
 * Whether somebody listens: where leases come and go by the microsecond, not even a closure is made
 * for nobody.
 */
export function isWatched(event: LockEventName): boolean {
  return channels[event].hasSubscribers
}

/**
 * Publishes an event if somebody listens, to whom the locks of the current context are none of its
 * own. A subscriber that throws is reported by Node, not to the caller.
 */
export function publish<N extends LockEventName>(event: N, message: () => LockEvents[N]): void {
  const target = channels[event]
  if (target.hasSubscribers) detached(() => target.publish(withJson(message())))
}

/**
 * Listens to one kind of event of every client in this process. Returns what stops listening.
 * @throws LockUsageError for an event that there is not, or without a function.
 */
export function onLockEvent<N extends LockEventName>(
  event: N,
  listener: (message: LockEvents[N]) => void,
): () => void {
  if (!NAMES.includes(event)) {
    throw new LockUsageError(
      `onLockEvent knows the events ${NAMES.join(', ')}, not ${describe(event)}.`,
    )
  }
  if (typeof listener !== 'function') {
    throw new LockUsageError(`onLockEvent needs a function to call for the event ${event}.`)
  }
  const target = channels[event]
  const handler = (message: unknown): void => listener(message as LockEvents[N])
  target.subscribe(handler)
  return () => {
    target.unsubscribe(handler)
  }
}
