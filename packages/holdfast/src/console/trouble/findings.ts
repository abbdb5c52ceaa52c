/** What is wrong with the locks of a store, for all users. */
import type { HolderInfo } from '../../store/contract.js'
import type { KnownLock } from '../look/known-lock.js'
import type { KnownLocks } from '../look/known-locks.js'
import { Cycles, type SeenCycle } from './cycles.js'
import { SilentWaits } from './silent-waits.js'

export type Finding =
  | { readonly kind: 'deadlock'; readonly cycle: SeenCycle }
  | {
      readonly kind: 'late-renewal' | 'stolen-but-held'
      readonly known: KnownLock
      readonly holder: HolderInfo
    }
  | { readonly kind: 'old-waiters'; readonly known: KnownLock }
  | { readonly kind: 'no-leader'; readonly known: KnownLock; readonly sinceMs: number }

/** An election without a leader for less than this time is between two leaders. */
const LEADERLESS_MS = 2_000

export class Findings {
  readonly cycles = new Cycles()
  readonly silent = new SilentWaits()
  readonly #waitWarnMs: number
  /** Since when these elections have had candidates and no leader, by the monotonic clock. */
  #leaderless = new Map<string, number>()
  /** The gravest first, and each kind from its oldest on. */
  all: readonly Finding[] = []

  constructor(waitWarnMs: number) {
    this.#waitWarnMs = waitWarnMs
  }

  look(known: KnownLocks, nowMs: number): void {
    this.cycles.look(known, nowMs)
    this.silent.look(known, nowMs)
    const late: Finding[] = []
    const old: Extract<Finding, { kind: 'old-waiters' }>[] = []
    const stolen: Finding[] = []
    const leaderless = new Map<string, number>()
    const noLeader: Finding[] = []
    for (const lock of known.hot()) {
      for (const holder of lock.lateHolders)
        late.push({ kind: 'late-renewal', known: lock, holder })
      if (nowMs - lock.waitingSinceMs >= this.#waitWarnMs)
        old.push({ kind: 'old-waiters', known: lock })
      for (const holder of lock.info.holders)
        if (holder.stolen) stolen.push({ kind: 'stolen-but-held', known: lock, holder })
      if (!lock.isElection || lock.info.holders.length > 0) continue
      const sinceMs = this.#leaderless.get(lock.lock) ?? lock.seenMs
      leaderless.set(lock.lock, sinceMs)
      if (nowMs - sinceMs >= LEADERLESS_MS)
        noLeader.push({ kind: 'no-leader', known: lock, sinceMs })
    }
    this.#leaderless = leaderless
    old.sort((one, other) => one.known.waitingSinceMs - other.known.waitingSinceMs)
    const cycles = this.cycles.all(nowMs).map((cycle): Finding => ({ kind: 'deadlock', cycle }))
    const standing = cycles.filter(
      (finding) => finding.kind === 'deadlock' && !finding.cycle.isResolved,
    )
    const resolved = cycles.filter(
      (finding) => finding.kind === 'deadlock' && finding.cycle.isResolved,
    )
    this.all = [...standing, ...resolved, ...late, ...old, ...stolen, ...noLeader]
  }
}
