/** Listens to the diagnostics channels. */
import { LockUsageError } from '../../errors.js'
import { describe } from '../../options/describe.js'
import { checkNoOptions } from '../../options/known-keys.js'
import { channels, EVENT_NAMES, type LockEventName, type LockEvents } from './events.js'

/**
 * Listens to one kind of event of every client in this process. Returns a function that stops it.
 * @throws LockUsageError for an unknown event, or without a function.
 */
export function onLockEvent<N extends LockEventName>(
  event: N,
  listener: (message: LockEvents[N]) => void,
): () => void
export function onLockEvent<N extends LockEventName>(
  event: N,
  listener: (message: LockEvents[N]) => void,
  extra?: unknown,
): () => void {
  checkNoOptions('onLockEvent', extra)
  if (!EVENT_NAMES.includes(event)) {
    throw new LockUsageError(
      `onLockEvent knows the events ${EVENT_NAMES.join(', ')}, not ${describe(event)}.`,
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
