/** The cycles of waits that a console has seen: those that stand, and those that an error ended. */
import { findDeadlocks } from '../../lease/deadlock/find-deadlocks.js'
import { addTo } from '../../collections/lists.js'
import type { DeadlockStep } from '../../lease/deadlock/deadlock-error.js'
import type { KnownLocks } from '../look/known-locks.js'

export interface SeenCycle {
  readonly steps: readonly DeadlockStep[]
  readonly isResolved: boolean
  /** When it was seen first, by the monotonic clock. */
  readonly seenMs: number
}

/** For how long a cycle that was resolved is shown. */
const RESOLVED_SHOWN_MS = 10 * 60_000
const MOST_RESOLVED = 20
/** The search for cycles is one step. Of more locks that wait for each other it reads the first. */
export const MOST_STUCK = 1_000

export class Cycles {
  /** When each cycle of the last look was seen first, by its id. */
  #seen = new Map<string, number>()
  #standing: readonly SeenCycle[] = []
  #resolved: SeenCycle[] = []
  /** The locks that may be in a cycle, when the last search has not read all of them. */
  #unsearched: readonly string[] = []

  /**
   * Looks for cycles. Locks of one look are read at different moments. So a cycle counts once all
   * of its locks were read again, and it still stands.
   */
  look(known: KnownLocks, nowMs: number): void {
    const seen = new Map<string, number>()
    const standing: SeenCycle[] = []
    const names = involved(known)
    const searched = names.slice(0, MOST_STUCK).flatMap((name) => known.get(name)?.info ?? [])
    for (const { id, steps } of findDeadlocks(searched)) {
      const before = this.#seen.get(id)
      seen.set(id, before ?? nowMs)
      const isReadAgain = steps.every(
        ({ lock }) => (known.get(lock)?.seenMs ?? 0) > (before ?? nowMs),
      )
      if (before !== undefined && isReadAgain)
        standing.push({ steps, isResolved: false, seenMs: before })
    }
    this.#seen = seen
    this.#standing = standing
    this.#unsearched = names.length > MOST_STUCK ? names : []
  }

  /** Notes a cycle that a `DeadlockError` of this process ended. */
  resolve(steps: readonly DeadlockStep[], nowMs: number): void {
    this.#resolved.unshift({ steps, isResolved: true, seenMs: nowMs })
    this.#resolved = this.#resolved.slice(0, MOST_RESOLVED)
  }

  /**
   * Whether the last search may have missed a cycle of these locks. A cycle may have searched locks
   * and others, so that each lock that waits counts.
   */
  hasUnsearched(isOne: (lock: string) => boolean): boolean {
    return this.#unsearched.some(isOne)
  }

  all(nowMs: number): readonly SeenCycle[] {
    const resolved = this.#resolved.filter(({ seenMs }) => nowMs - seenMs < RESOLVED_SHOWN_MS)
    return [...this.#standing, ...resolved]
  }
}

/**
 * Returns the locks whose holders wait for such locks: no other one is in a cycle. Most waits end
 * in a holder that works, so that few locks are left for the search.
 */
function involved(known: KnownLocks): string[] {
  const waits = new Map<string, Set<string>>()
  const waiting = new Map<string, string[]>()
  for (const { lock, info } of known.hot()) {
    const wanted = new Set<string>()
    for (const { owner, stolen } of info.holders)
      for (const note of (stolen ? undefined : owner.waitsFor) ?? []) wanted.add(note.lock)
    if (wanted.size === 0) continue
    waits.set(lock, wanted)
    for (const name of wanted) addTo(waiting, name, lock)
  }
  const ended = Array.from(waiting.keys()).filter((name) => !waits.has(name))
  for (let name = ended.pop(); name !== undefined; name = ended.pop()) {
    for (const lock of waiting.get(name) ?? []) {
      const wanted = waits.get(lock)
      wanted?.delete(name)
      if (wanted?.size !== 0) continue
      waits.delete(lock)
      ended.push(lock)
    }
  }
  return [...waits.keys()]
}
