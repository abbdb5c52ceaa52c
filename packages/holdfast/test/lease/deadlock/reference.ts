/** The deadlocks of a graph, found without any index: a reference for `findDeadlocks`. */
import type { findDeadlocks } from 'holdfast'
import type { WaitNote } from 'holdfast/store'

export type Seen = Parameters<typeof findDeadlocks>[0][number]

interface Edge {
  readonly lock: string
  readonly holder: Seen['holders'][number]
  readonly note: WaitNote
}

/** Returns the ids of the waits of each deadlock, sorted. */
export function referenceDeadlocks(locks: readonly Seen[]): string[][] {
  const edges = stuckEdges(locks)
  const reach = (lock: string): Set<string> => {
    const found = new Set([lock])
    for (const at of found)
      for (const edge of edges) if (edge.lock === at) found.add(edge.note.lock)
    return found
  }
  const cycles = new Map<string, Set<string>>()
  for (const { lock, note } of edges) {
    if (!reach(note.lock).has(lock)) continue
    const members = [...reach(lock)].filter((other) => reach(other).has(lock)).sort()
    const waits = cycles.get(members.join()) ?? new Set()
    cycles.set(members.join(), waits.add(note.id))
  }
  return Array.from(cycles.values(), (waits) => [...waits].sort()).sort()
}

/** Removes the waits that can end, one after the other, until none is left to remove. */
function stuckEdges(locks: readonly Seen[]): Edge[] {
  let edges = locks.flatMap(({ lock, holders }) =>
    holders.flatMap((holder) =>
      holder.stolen
        ? []
        : (holder.owner.waitsFor ?? []).map((note): Edge => ({ lock, holder, note })),
    ),
  )
  for (;;) {
    const still = edges.filter(({ note }) => isBlocked(locks, note, edges))
    if (still.length === edges.length) return edges
    edges = still
  }
}

function isBlocked(locks: readonly Seen[], note: WaitNote, edges: readonly Edge[]): boolean {
  const lock = locks.find((seen) => seen.lock === note.lock)
  if (!lock) return false
  const stuck = lock.holders.filter((holder) => edges.some((edge) => edge.holder === holder))
  const held = stuck.reduce((sum, { weight }) => sum + weight, 0)
  const place = lock.waiters.findIndex(({ claimId }) => claimId === note.claimId)
  const ahead = lock.waiters.slice(0, Math.max(0, place))
  return held > 0 && [note, ...ahead].some(({ weight }) => held + weight > lock.capacity)
}
