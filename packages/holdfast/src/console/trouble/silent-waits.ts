/**
 * Waits that only leases show. A process notes on its leases what its work waits for. While it
 * stands still, its claim leaves the queue, and the notes stay for as long as the leases do.
 */
import { addTo } from '../../collections/lists.js'
import type { Owner, WaitNote } from '../../store/contract.js'
import type { HeldBy, KnownLock } from '../look/known-lock.js'
import type { KnownLocks } from '../look/known-locks.js'

/** The leases that show a wait which has left the queue of its lock. */
export type SilentWait = readonly HeldBy[]

/** The noted waits for one lock, by the client that waits. */
type NotedWaits = Map<string, HeldBy[]>

export class SilentWaits {
  /** When a look first missed each wait in the queue of its lock, by lock and client. */
  #missed = new Map<string, ReadonlyMap<string, number>>()
  #silent = new Map<string, ReadonlyMap<string, SilentWait>>()

  /**
   * Looks for noted waits without a claim. Locks of one look are read at different moments. So a
   * wait counts once its lock was read again, and the claim is still missing.
   */
  look(known: KnownLocks, nowMs: number): void {
    const missed = new Map<string, ReadonlyMap<string, number>>()
    const silent = new Map<string, ReadonlyMap<string, SilentWait>>()
    for (const [lock, waits] of notedWaits(known)) {
      const wanted = known.get(lock)
      if (!wanted) continue
      const missing = withoutClaim(wanted, waits)
      if (missing.size === 0) continue
      const before = this.#missed.get(lock)
      missed.set(lock, new Map(Array.from(missing.keys(), (id) => [id, before?.get(id) ?? nowMs])))
      for (const id of missing.keys())
        if (wanted.seenMs <= (before?.get(id) ?? nowMs)) missing.delete(id)
      if (missing.size > 0) silent.set(lock, missing)
    }
    this.#missed = missed
    this.#silent = silent
  }

  /** The silent waits for a lock. */
  of(lock: string): readonly SilentWait[] {
    return [...(this.#silent.get(lock)?.values() ?? [])]
  }

  count(lock: string): number {
    return this.#silent.get(lock)?.size ?? 0
  }

  /** Whether one of the waits that a holder has noted is silent. */
  has(lock: string, owner: Pick<Owner, 'clientId' | 'waitsFor'>): boolean {
    const silent = this.#silent.get(lock)
    if (!silent) return false
    const notes = owner.waitsFor ?? []
    return notes.some((note) => note.lock === lock && silent.has(clientOf(note, owner)))
  }
}

function notedWaits(known: KnownLocks): ReadonlyMap<string, NotedWaits> {
  const noted = new Map<string, NotedWaits>()
  for (const at of known.hot()) {
    for (const holder of at.info.holders) {
      if (holder.stolen) continue
      const { owner } = holder
      for (const note of owner.waitsFor ?? []) {
        const waits: NotedWaits = noted.get(note.lock) ?? new Map()
        noted.set(note.lock, waits)
        addTo(waits, clientOf(note, owner), { known: at, holder })
      }
    }
  }
  return noted
}

/** Returns the waits whose clients neither hold the lock nor stand in its queue. */
function withoutClaim({ info }: KnownLock, waits: NotedWaits): Map<string, SilentWait> {
  const missing = new Map<string, SilentWait>(waits)
  for (const { owner } of [...info.holders, ...info.waiters]) missing.delete(owner.clientId)
  return missing
}

/** A run notes its wait on the leases of the runs around it, which belong to other clients. */
function clientOf(note: WaitNote, { clientId }: Pick<Owner, 'clientId'>): string {
  return note.clientId ?? clientId
}
