/** `election.lead`: work that runs on the candidate that leads, again after each loss. */
import { onAbort } from '../async/abort-listeners.js'
import { pendingCall } from '../async/keep-alive.js'
import type { HeldLease } from '../lease/hold/held-lease.js'
import type { Lease } from '../lease/hold/lease.js'

/** What `lead` does with a candidate. */
export interface Candidate {
  /** Waits for the leadership, however long that takes. */
  campaign(signal: AbortSignal | undefined): Promise<HeldLease>
  /** Asks the work under the leadership to stop: the caller of `lead` ends it. */
  stop(lease: HeldLease, reason: unknown): void
  /** Lets go of the leadership. */
  leave(lease: HeldLease): Promise<void>
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** Leads until the work settles under a leadership that was not lost, or the signal aborts. */
export function leadUntilDone<T>(
  candidate: Candidate,
  work: (lease: Lease) => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return pendingCall(lead(candidate, work, signal))
}

async function lead<T>(
  candidate: Candidate,
  work: (lease: Lease) => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (;;) {
    const lease = await candidate.campaign(signal)
    const outcome = await workUnder(candidate, lease, work, signal)
    const isLost = await lease.endedEarly()
    await lease.whenCallbacksSettled()
    await candidate.leave(lease)
    signal?.throwIfAborted()
    if (isLost) continue
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }
}

async function workUnder<T>(
  candidate: Candidate,
  lease: HeldLease,
  work: (lease: Lease) => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<Outcome<T>> {
  const stopListening = signal && onAbort(signal, () => candidate.stop(lease, signal.reason))
  try {
    return { value: await lease.run(work) }
  } catch (error) {
    return { error }
  } finally {
    stopListening?.()
  }
}
