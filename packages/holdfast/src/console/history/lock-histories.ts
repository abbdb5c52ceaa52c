/** What happened to each lock since the console began, as far as looks and events show it. */
import type { Clock } from '../../clock/clock.js'
import { OldestKeys } from '../../collections/oldest-keys.js'
import type { HolderInfo } from '../../store/contract.js'
import { ownerView, shownText } from '../access/sight.js'
import { kindOf } from '../lock/holder-view.js'
import type { KnownLock } from '../look/known-lock.js'
import type { HistoryEntry, Row } from '../view.js'

const MOST_LOCKS = 1_000
const MOST_ENTRIES = 50

interface LockHistory {
  /** The kind that the lock had. Undefined where only events named it. */
  kind: Row['kind'] | undefined
  entries: readonly HistoryEntry[]
}

export class LockHistories {
  readonly #clock: Clock
  readonly #beganMs: number
  readonly #histories = new Map<string, LockHistory>()
  readonly #oldest = new OldestKeys(this.#histories)

  constructor(clock: Clock) {
    this.#clock = clock
    this.#beganMs = clock.monotonicMs()
  }

  /** The entries of a lock, the latest first. */
  of(lock: string): readonly HistoryEntry[] {
    return this.#histories.get(lock)?.entries ?? []
  }

  kindOf(lock: string): Row['kind'] | undefined {
    return this.#histories.get(lock)?.kind
  }

  sinceMs(nowMs: number): number {
    return Math.max(0, Math.round(nowMs - this.#beganMs))
  }

  /** Compares two states of a lock. The first sight of a lock is no event. */
  compare(lock: string, before: KnownLock | undefined, now: KnownLock | undefined): void {
    if (!before) return
    const held = new Map(now?.info.holders.map((holder) => [holder.claimId, holder]))
    const wallMs = this.#clock.wallMs()
    const entries: HistoryEntry[] = []
    for (const holder of before.info.holders) {
      const still = held.get(holder.claimId)
      held.delete(holder.claimId)
      if (!still) entries.push(entryOf('ended', holder, wallMs))
      else if (still.stolen && !holder.stolen) entries.push(stolenEntry(still, wallMs))
    }
    for (const holder of held.values())
      entries.push(entryOf('granted', holder, wallMs - Math.round(holder.heldMs)))
    if (entries.length > 0) this.#add(lock, entries, kindOf(now ?? before))
  }

  note(lock: string, entry: Omit<HistoryEntry, 'atMs'>): void {
    this.#add(lock, [{ atMs: this.#clock.wallMs(), ...entry }], this.kindOf(lock))
  }

  #add(lock: string, entries: readonly HistoryEntry[], kind: Row['kind'] | undefined): void {
    const earlier = this.of(lock)
    // Set again, so that the locks stand in the order of their last events.
    this.#histories.delete(lock)
    const all = [...entries.toReversed(), ...earlier].slice(0, MOST_ENTRIES)
    this.#histories.set(lock, { kind, entries: all })
    if (this.#histories.size <= MOST_LOCKS) return
    const oldest = this.#oldest.next()
    if (oldest !== undefined) this.#histories.delete(oldest)
  }
}

function entryOf(what: 'granted' | 'ended', holder: HolderInfo, atMs: number): HistoryEntry {
  const { owner, token } = holder
  const named = token === undefined ? {} : { token: String(token) }
  return { atMs, what, owner: ownerView(owner), ...named }
}

function stolenEntry(holder: HolderInfo, atMs: number): HistoryEntry {
  const { stealReason } = holder
  const text = stealReason === undefined ? {} : { text: shownText(stealReason) }
  return { ...entryOf('ended', holder, atMs), what: 'stolen', ...text }
}
