/** The metrics for Prometheus: their names without the prefix, and their labels. */
import { LockUsageError } from '../errors.js'
import { describe } from '../options/describe.js'
import type { MeasuredLock } from '../telemetry/live-counts.js'

export interface MetricInfo {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

const LOCK_LABELS = ['store', 'kind', 'lock'] as const

export const METRICS = {
  acquired: {
    name: 'lock_acquire_duration_seconds',
    help: 'How long calls waited for a lock, by outcome.',
    labels: [...LOCK_LABELS, 'outcome', 'error_type'],
  },
  held: {
    name: 'lock_hold_duration_seconds',
    help: 'How long leases were held, by how they ended.',
    labels: [...LOCK_LABELS, 'outcome'],
  },
  renewed: {
    name: 'lease_renewal_duration_seconds',
    help: 'How long renewals took, by outcome.',
    labels: [...LOCK_LABELS, 'outcome'],
  },
  losses: {
    name: 'lease_losses_total',
    help: 'Leases that ended before their holder released them, by reason.',
    labels: [...LOCK_LABELS, 'reason'],
  },
  leases: { name: 'leases_active', help: 'Leases that are held now.', labels: LOCK_LABELS },
  waits: { name: 'waits_active', help: 'Calls that wait for a lock now.', labels: LOCK_LABELS },
  leading: {
    name: 'election_leading',
    help: 'Whether a candidate of this process leads: 1 or 0.',
    labels: ['store', 'election'],
  },
} as const satisfies Record<string, MetricInfo>

export const DEFAULT_PREFIX = 'holdfast_'

export type Labels = Readonly<Record<string, string>>

/** Returns the labels of a measurement. A lock without a name in metrics has no label for it. */
export function labelsOf({ store, kind, lock }: MeasuredLock, more: Labels = {}): Labels {
  return { store, kind, ...(lock === undefined ? {} : { lock }), ...more }
}

/** @throws LockUsageError when no metric name can begin like that. */
export function checkPrefix(call: string, prefix: unknown): void {
  if (typeof prefix === 'string' && /^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(prefix)) return
  throw new LockUsageError(
    `prefix of ${call} must be letters, digits and _, such as "holdfast_", not ${describe(prefix)}.`,
  )
}
