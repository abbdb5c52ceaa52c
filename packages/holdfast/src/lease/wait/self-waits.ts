/**
 * Notices callers that wait for a lock which this very client holds by a plain `acquire`. No frame
 * says whether the same work waits for itself. Often it does, and would wait forever.
 */
import { channels } from '../runtime/events.js'
import type { LockKind } from '../../store/contract.js'
import type { OpenWait } from '../runtime/open-waits.js'
import type { Runtime } from '../runtime/runtime.js'

/** A lease of this client, as far as a wait for it matters. */
interface OwnLease {
  readonly name: string
  readonly kind: LockKind
  readonly claimId: string
  readonly exclusive: boolean
  readonly busy: boolean
  readonly acquiredAt: string | undefined
}

let hasWarned = false

/** Announces the waits for leases of the client itself, and warns once a process. */
export function announceSelfWaits(
  { runtime, leases }: { runtime: Runtime; leases: { values(): Iterable<OwnLease> } },
  waits: readonly OpenWait[],
  nowMs: number,
): void {
  const held = new Map<string, OwnLease>()
  // Under a `run` its own work would have been refused. Holders that share may be other work.
  for (const lease of leases.values())
    if (lease.exclusive && !lease.busy) held.set(lease.name, lease)
  for (const { lock = '', startedMs } of waits) {
    const lease = held.get(lock)
    if (!lease) continue
    const { kind, claimId: id, acquiredAt } = lease
    const durationMs = nowMs - startedMs
    const at = acquiredAt === undefined ? {} : { acquiredAt }
    runtime.announce('self-wait', { lock, kind, id }, { durationMs, ...at })
    warn(lock, durationMs, acquiredAt)
  }
}

function warn(lock: string, durationMs: number, acquiredAt: string | undefined): void {
  if (hasWarned || channels['self-wait'].hasSubscribers) return
  hasWarned = true
  const place =
    acquiredAt === undefined
      ? ' Create the locks with traceAcquires: true to see where.'
      : ` It was acquired here:\n${acquiredAt}`
  process.emitWarning(
    `A caller has waited for "${lock}" for ${Math.round(durationMs / 1000)} s, and this process holds it by acquire. ` +
      `This may be a self-deadlock: release the lease before, or use run.${place}`,
    { type: 'HoldfastWarning', code: 'HOLDFAST_SELF_WAIT' },
  )
}
