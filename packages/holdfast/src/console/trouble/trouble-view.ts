/** What is wrong, as one user sees it. */
import { FOREIGN_MEMBER, ownerView, type Sight } from '../access/sight.js'
import { inTheWay, signsOf, type Found } from '../lock/chain.js'
import { ageOf, holderView } from '../lock/holder-view.js'
import type { StoreLooks } from '../look/store-looks.js'
import type { ConsoleView, CycleMember, Trouble } from '../view.js'
import { MOST_STUCK, type SeenCycle } from './cycles.js'
import type { Finding, Findings } from './findings.js'

/** How many pieces of trouble one view has. */
const MOST = 50

export type VisibleTrouble = Pick<ConsoleView, 'trouble' | 'moreTrouble' | 'searchedLocks'>

export function troubleView(findings: Findings, looks: StoreLooks, sight: Sight): VisibleTrouble {
  const visible = findings.all.filter((finding) => isVisible(finding, sight))
  const found = { known: looks.known, silent: findings.silent, nowMs: looks.moment.monotonicMs }
  const shown = visible.slice(0, MOST).map((finding) => viewOf(finding, found, sight))
  const more = visible.length - shown.length
  const isCut = findings.cycles.hasUnsearched((lock) => sight.sees(lock))
  return {
    trouble: [...shown, ...storeTrouble(looks)],
    ...(more > 0 ? { moreTrouble: more } : {}),
    ...(isCut ? { searchedLocks: MOST_STUCK } : {}),
  }
}

/** Returns the kinds of trouble of each lock. Those of locks that a user does not see included. */
export function marksOf(findings: readonly Finding[]): ReadonlyMap<string, Trouble['kind'][]> {
  const marks = new Map<string, Trouble['kind'][]>()
  for (const finding of findings) {
    if (finding.kind === 'deadlock' && finding.cycle.isResolved) continue
    for (const lock of locksOf(finding)) {
      const kinds = marks.get(lock) ?? []
      if (!kinds.includes(finding.kind)) marks.set(lock, [...kinds, finding.kind])
    }
  }
  return marks
}

/** A cycle is shown to each user who sees one of its locks. */
function isVisible(finding: Finding, sight: Sight): boolean {
  return locksOf(finding).some((lock) => sight.sees(lock))
}

function locksOf(finding: Finding): readonly string[] {
  return finding.kind === 'deadlock'
    ? finding.cycle.steps.map(({ lock }) => lock)
    : [finding.known.lock]
}

function viewOf(finding: Finding, found: Found, sight: Sight): Trouble {
  const { nowMs } = found
  if (finding.kind === 'deadlock') return cycleView(finding.cycle, found, sight)
  const { kind, known } = finding
  const { lock } = known
  if (kind === 'late-renewal' || kind === 'stolen-but-held')
    return { kind, lock, holder: holderView(known, finding.holder, nowMs) }
  if (kind === 'no-leader') {
    const candidates = known.info.waiters.length
    return { kind, lock, candidates, sinceMs: Math.round(nowMs - finding.sinceMs) }
  }
  const first = inTheWay(known)
  return {
    kind,
    lock,
    waiters: known.waiterCount,
    oldestMs: Math.round(nowMs - known.waitingSinceMs),
    ...(first ? { inTheWay: holderView(known, first, nowMs) } : {}),
  }
}

function cycleView(
  { steps, isResolved, seenMs }: SeenCycle,
  { known: all, silent, nowMs }: Found,
  sight: Sight,
): Trouble {
  const cycle = steps.map((step): CycleMember => {
    if (!sight.sees(step.lock)) return FOREIGN_MEMBER
    const known = all.get(step.lock)
    const holder = known?.info.holders.find(({ claimId }) => claimId === step.claimId)
    const { lock, claimId, waitsFor } = step
    const signs = holder && !isResolved ? signsOf(holder, waitsFor, silent) : {}
    const heldMs = known && holder ? Math.round(holder.heldMs) + ageOf(known, nowMs) : 0
    return { lock, owner: ownerView(step), heldMs, claimId, ...signs }
  })
  return { kind: 'deadlock', cycle, isResolved, seenMs: Math.max(0, Math.round(nowMs - seenMs)) }
}

function storeTrouble({ health, moment }: StoreLooks): Trouble[] {
  const { state, sinceMs, latencyMs } = health
  if (state === 'ok') return []
  return [
    {
      kind: state === 'slow' ? 'store-slow' : 'store-away',
      sinceMs: Math.max(0, Math.round(moment.monotonicMs - sinceMs)),
      ...(latencyMs === undefined ? {} : { latencyMs: Math.round(latencyMs) }),
    },
  ]
}
