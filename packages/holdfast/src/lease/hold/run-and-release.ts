/** A `run` from the grant on: the callback, and how the run ends. */
import type { LockUsageError } from '../../errors.js'
import { closeFrame, openFrame, settleDoubt, startIn } from '../nesting/run-frames.js'
import type { AcquireTrace } from '../runtime/acquire-trace.js'
import { tracedRun } from '../runtime/traces.js'
import type { HeldLease } from './held-lease.js'
import type { Services } from '../services.js'

/** How a run waits for the store, and who hears of its grant. */
export interface RunTerms {
  readonly awaitRelease: boolean
  readonly trace: AcquireTrace | undefined
}

/**
 * Runs `work` under a lease and releases it.
 *
 * Nested runs that the callback started and did not wait for run under the same lease. The lock is
 * kept until they have ended too.
 *
 * Rejects with the loss only if the lease ended before the callback settled. Otherwise the
 * callback's own outcome stands, even if the release fails: a release error after a successful
 * payment must not make a customer pay twice.
 *
 * @param wait the lease, or the wait for it
 */
export async function runAndRelease<T>(
  services: Services,
  wait: HeldLease | Promise<HeldLease>,
  work: (lease: HeldLease) => T | PromiseLike<T>,
  { awaitRelease, trace }: RunTerms,
): Promise<T> {
  const lease = await wait
  if (services.runtime.closed) throw await releaseLate(services, lease)
  trace?.grant(lease)
  let outcome: { readonly value: T } | { readonly error: unknown }
  try {
    const callback = tracedRun(services.runtime, lease, () => work(lease))
    if (!lease.held) await settleDoubt(lease)
    const frame = openFrame(services, lease, !lease.exclusive)
    try {
      outcome = { value: await startIn(frame, callback) }
    } finally {
      closeFrame(frame)
    }
  } catch (error) {
    outcome = { error }
  }
  // Each promise takes a good part of a run in memory, so a run awaits only what is not over.
  const ended = lease.endedEarly()
  const lost = ended && (await ended)
  if (lease.busy) await lease.whenCallbacksSettled()
  const release = awaitRelease ? lease.releaseQuietly() : services.releases.release(lease)
  if (release) await release
  if (lost) throw lease.lossError('error' in outcome ? outcome.error : undefined)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/**
 * Releases a lease that was granted in the tick in which the client was closed. The close may not
 * have seen it, and sees no callback under it. Resolves to the error for the caller.
 */
export async function releaseLate(
  { runtime }: Services,
  lease: HeldLease,
): Promise<LockUsageError> {
  await lease.releaseQuietly()
  return runtime.closedError(lease.name)
}
