/** One attempt for one caller, which does not queue. */
import type { ClaimListener } from '../claim/claim-terms.js'
import { startClaim } from '../claim/start-claim.js'
import { Grant } from '../grant/grant.js'
import type { HeldLease } from '../hold/held-lease.js'
import type { AwaitedClaim } from '../runtime/open-waits.js'
import type { ClaimTemplate } from '../runtime/runtime.js'
import type { Services } from '../services.js'
import { CallerWait, type WaitLimits } from '../wait/caller-wait.js'

/** What the caller wants, and what ends its attempt. */
interface AttemptOfOne {
  readonly template: ClaimTemplate
  readonly renews: boolean
  readonly limits: Pick<WaitLimits, 'signal' | 'trace'>
}

/** Resolves to the lease, or to undefined when the lock is busy. */
export function attemptOnce(
  services: Services,
  { template, renews, limits: { signal, trace } }: AttemptOfOne,
  startLease: (grant: Grant, nowMs: number) => HeldLease,
): Promise<HeldLease | undefined> {
  const { runtime } = services
  const nowMs = runtime.clock.monotonicMs()
  const limits = { waitMs: Infinity, outageMs: 0, signal, trace }
  const wait = new CallerWait<HeldLease | undefined>(runtime, template.lock, nowMs, limits)
  const take = (grant: Grant): HeldLease => {
    const durationMs = runtime.clock.monotonicMs() - nowMs
    runtime.announce('granted', grant.claim, { token: grant.token, durationMs })
    return startLease(grant, nowMs)
  }
  const pending = start(services, template, renews, wait, (grant, error) => {
    if (error === undefined) wait.serve(grant && take(grant))
    else wait.fail(error)
  })
  trace?.noteClaim(pending?.claimId)
  return wait.promise
}

/** Attempts until the caller gives up. Returns the claim unless it has ended. */
function start(
  services: Services,
  template: ClaimTemplate,
  renews: boolean,
  wait: Pick<CallerWait<HeldLease | undefined>, 'fail' | 'onGiveUp'>,
  done: ClaimListener['done'],
): AwaitedClaim | undefined {
  const terms = {
    enqueue: false,
    renews,
    attemptTerms: () => ({ options: { enqueue: false, tokens: 1 }, localWaiters: 0 }),
  }
  try {
    const found = startClaim(services, template, terms, { done })
    if (!(found instanceof Grant)) {
      if (found) wait.onGiveUp = () => found.stop()
      return found
    }
    done(found)
  } catch (error) {
    // A store that answers at once refuses at once; the wait must end with it, or closing the
    // client would.
    wait.fail(error)
  }
  return undefined
}
