/** How a `run` ends. */
import { runUnder } from '../nesting/run-frames.js'
import { tracedRun } from '../runtime/traces.js'
import type { HeldLease } from './held-lease.js'
import type { Services } from '../services.js'

/**
 * Runs `work` under a lease and releases it.
 *
 * Nested runs that the callback started and did not wait for run under the same lease. The lock is
 * kept until they have ended too.
 *
 * Rejects with the loss only if the lease ended before the callback settled. Otherwise the
 * callback's own outcome stands, even if the release fails: a release error after a successful
 * payment must not make a customer pay twice.
 */
export async function runAndRelease<T>(
  services: Services,
  lease: HeldLease,
  work: (lease: HeldLease) => T | PromiseLike<T>,
  awaitRelease: boolean,
): Promise<T> {
  let outcome: { readonly value: T } | { readonly error: unknown }
  try {
    const callback = tracedRun(services.runtime, lease, () => work(lease))
    outcome = { value: await runUnder(services, lease, callback) }
  } catch (error) {
    outcome = { error }
  }
  const lost = await lease.endedEarly()
  await lease.whenCallbacksSettled()
  await (awaitRelease ? lease.releaseQuietly() : services.releases.release(lease))
  if (lost) throw lease.lossError('error' in outcome ? outcome.error : undefined)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
