/** How a `run` ends. */
import { runUnder } from './frames.js'
import type { HeldLease } from './held-lease.js'
import type { Services } from './services.js'

/**
 * Runs `work` under a lease and gives it back.
 *
 * What the callback began and did not wait for, nested runs for instance, works under the same
 * lease: the lock is kept until that has ended too.
 *
 * Rejects with the loss only if the lease ended before the callback settled. Otherwise the
 * callback's own outcome stands, whatever becomes of the release: a release error after a
 * successful payment must not make anyone pay twice.
 */
export async function runAndRelease<T>(
  services: Services,
  lease: HeldLease,
  work: (lease: HeldLease) => T | PromiseLike<T>,
): Promise<T> {
  let outcome: { readonly value: T } | { readonly error: unknown }
  try {
    outcome = { value: await runUnder(services, lease, () => work(lease)) }
  } catch (error) {
    outcome = { error }
  }
  const lost = await lease.endedEarly()
  await lease.whenCallbacksSettled()
  await lease.releaseQuietly()
  if (lost) throw lease.lossError('error' in outcome ? outcome.error : undefined)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
