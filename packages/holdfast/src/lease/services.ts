/**
 * What the locks of one client share beside the runtime: the parts that act in the background, and
 * the leases that `close` has to end.
 */
import type { LinkedSet } from '../collections/linked-set.js'
import type { LockKind } from '../store/contract.js'
import type { RetryRounds } from './wait/retry-rounds.js'
import type { Heartbeats } from './wait/heartbeats.js'
import type { OpenReleases } from './release/unawaited-releases.js'
import type { ReleasePauses } from './release/release-pauses.js'
import type { RenewalScheduler } from './renew/renewal-scheduler.js'
import type { Runtime } from './runtime/runtime.js'
import type { Withdrawals } from './release/release-until-answered.js'

/** A lease that was neither released nor lost, as `close` and `steal` see it. */
export interface OpenLease {
  readonly name: string
  readonly kind: LockKind
  readonly claimId: string
  readonly exclusive: boolean
  /** Where it was acquired, if the client traces that. */
  readonly acquiredAt: string | undefined
  /** Whether a callback runs under it. */
  readonly busy: boolean
  /** Resolves when the callbacks that run now have settled. */
  idle(): Promise<void>
  /** Aborts the signal of the lease. The lease continues. */
  askToStop(reason: unknown): void
  /** Stops renewing for good, and lets the lease end by itself. */
  abandon(): void
  /** Asks the store soon whether it still holds the lock for this lease. */
  verifySoon(): void
  /** Releases, without a promise where none is needed. A failure goes to the events. */
  releaseQuietly(): Promise<unknown> | undefined
}

export interface Services {
  readonly runtime: Runtime
  readonly renewals: RenewalScheduler
  readonly heartbeats: Heartbeats
  readonly retries: RetryRounds
  readonly withdrawals: Withdrawals
  readonly releases: OpenReleases
  /** Undefined where the store has a queue. */
  readonly pauses: ReleasePauses | undefined
  readonly leases: LinkedSet<OpenLease>
}
