/** What is so now: open leases, calls that wait, and leaders. */
import type { LockKind } from '../store/contract.js'

/** What a measurement is about. Names of locks are many, so most programs leave them out. */
export interface MeasuredLock {
  readonly store: string
  readonly kind: LockKind
  /** What the program calls the lock in its metrics. */
  readonly lock: string | undefined
}

/** How many of something there are for one measured lock. */
export interface LockCount extends MeasuredLock {
  count: number
}

/** Counts something by measured lock. A count that was reported stays, also at zero. */
export class LockCounts {
  readonly #counts = new Map<string, LockCount>()

  /** Adds to the count of a lock. Returns whether it is the first time. */
  add({ store, kind, lock }: MeasuredLock, amount: number): boolean {
    const key = JSON.stringify([store, kind, lock])
    const found = this.#counts.get(key)
    if (found) found.count += amount
    else this.#counts.set(key, { store, kind, lock, count: amount })
    return !found
  }

  values(): Iterable<Readonly<LockCount>> {
    return this.#counts.values()
  }
}

/** Whether candidates of this process lead, by election. */
export class Leaders {
  readonly #leaders = new Map<string, { store: string; election: string; claims: Set<string> }>()

  note(store: string, election: string, claimId: string, leads: boolean): void {
    const key = JSON.stringify([store, election])
    let found = this.#leaders.get(key)
    if (!found) this.#leaders.set(key, (found = { store, election, claims: new Set() }))
    if (leads) found.claims.add(claimId)
    else found.claims.delete(claimId)
  }

  *values(): Generator<{ readonly store: string; readonly election: string; leading: 0 | 1 }> {
    for (const { store, election, claims } of this.#leaders.values())
      yield { store, election, leading: claims.size > 0 ? 1 : 0 }
  }
}

/** The leases that began since the count began, by claim: a hand-off leaves the claim. */
export class OpenLeases {
  readonly counts = new LockCounts()
  readonly #byClaim = new Map<string, { readonly lock: MeasuredLock; open: number }>()

  /** Returns whether it is the first lease of this measured lock. */
  begin(claimId: string, lock: MeasuredLock): boolean {
    const found = this.#byClaim.get(claimId)
    if (found) found.open += 1
    else this.#byClaim.set(claimId, { lock, open: 1 })
    return this.counts.add(lock, 1)
  }

  /** Ends a lease. One that began before the count is not known. */
  end(claimId: string): void {
    const found = this.#byClaim.get(claimId)
    if (!found) return
    found.open -= 1
    if (found.open === 0) this.#byClaim.delete(claimId)
    this.counts.add(found.lock, -1)
  }
}
