/** What this process itself learns of its locks: losses, forgotten leases, deadlocks. */
import type { DeadlockStep } from '../../lease/deadlock/deadlock-error.js'
import { onLockEvent } from '../../lease/runtime/listen-to-events.js'
import { traceChannels, type LockTrace } from '../../lease/runtime/traces.js'

export interface OwnEvents {
  lost(lock: string, reason: string): void
  forgotten(lock: string): void
  deadlock(lock: string, cycle: readonly DeadlockStep[]): void
}

/**
 * Listens to the clients of this process.
 * @param eventsOf returns who listens to a client; undefined for one that is not shown
 * @returns a function that stops it
 */
export function listenToOwnEvents(
  eventsOf: (clientId: string) => OwnEvents | undefined,
): () => void {
  const { error } = traceChannels.acquire
  const onError = (message: unknown): void => {
    const trace = message as LockTrace
    const cycle = cycleOf(trace.error)
    if (cycle) eventsOf(trace.clientId)?.deadlock(trace.lock, cycle)
  }
  error.subscribe(onError)
  const stops = [
    onLockEvent('lost', ({ clientId, lock, reason }) => eventsOf(clientId)?.lost(lock, reason)),
    onLockEvent('forgotten', ({ clientId, lock }) => eventsOf(clientId)?.forgotten(lock)),
  ]
  return () => {
    error.unsubscribe(onError)
    for (const stop of stops) stop()
  }
}

/** By its code: a bundler may have made a second copy of the class. */
function cycleOf(error: unknown): readonly DeadlockStep[] | undefined {
  const { code, cycle } = (error ?? {}) as { readonly code?: unknown; readonly cycle?: unknown }
  return code === 'DEADLOCK' && Array.isArray(cycle) ? (cycle as DeadlockStep[]) : undefined
}
