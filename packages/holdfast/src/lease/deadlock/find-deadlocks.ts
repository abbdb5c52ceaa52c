/**
 * The graph of the waits of work that holds leases, and the cycles in it.
 *
 * A wait is stuck when the stuck holders of its lock leave no room for its claim, or for a waiter
 * ahead of it: nothing overtakes. Every other wait ends by itself. The reduction removes such waits
 * until none is left to remove (Holt, "Some Deadlock Properties of Computer Systems", 1972). It
 * sees no holders in processes that wait for less than `deadlockCheckMs`, so it errs towards
 * "not stuck".
 */
import type { DeadlockStep } from './deadlock-error.js'
import type { Owner, WaitNote } from '../../store/contract.js'

/** A lock, as far as the graph needs it. */
export interface SeenLock {
  readonly lock: string
  readonly capacity: number
  readonly holders: readonly SeenHolder[]
  /** In the order of the queue. */
  readonly waiters: readonly { readonly claimId: string; readonly weight: number }[]
}

export interface SeenHolder {
  readonly claimId: string
  readonly weight: number
  readonly owner: Owner
  /** A stolen lease ends by itself. */
  readonly stolen: boolean
}

/** Waits of which none can end before another one ends. */
export interface Deadlock {
  /** Names these locks, claims and waits. */
  readonly id: string
  readonly waits: readonly WaitNote[]
  /** Whether every note names this deadlock: each client has seen it, and noted it since. */
  readonly isNamed: boolean
  /** The wait that fails: the latest. Everyone that sees the deadlock finds the same one. */
  readonly victim: WaitNote
  /** The shortest cycle through the victim, whose lease stands last. */
  readonly steps: readonly DeadlockStep[]
}

/** A holder of `lock` that is stuck in a wait. */
interface Edge {
  readonly lock: string
  readonly holder: SeenHolder
  readonly note: WaitNote
}

/** Returns the deadlocks among these locks, as their holders note what they wait for. */
export function findDeadlocks(locks: readonly SeenLock[]): Deadlock[] {
  const edges = stuckEdges(locks)
  const reachable = new Map<string, ReadonlySet<string>>()
  const reach = (lock: string): ReadonlySet<string> => {
    let found = reachable.get(lock)
    if (!found) reachable.set(lock, (found = reachFrom(lock, edges)))
    return found
  }
  const components = new Map<string | undefined, Edge[]>()
  for (const edge of edges) {
    if (!reach(edge.note.lock).has(edge.lock)) continue
    // All locks of a strongly connected component have the same first one.
    const [first] = [...reach(edge.lock)].filter((lock) => reach(lock).has(edge.lock)).sort()
    const component = components.get(first)
    if (component) component.push(edge)
    else components.set(first, [edge])
  }
  return Array.from(components.values(), deadlockOf)
}

function stuckEdges(locks: readonly SeenLock[]): readonly Edge[] {
  const byName = new Map(locks.map((seen) => [seen.lock, seen]))
  let edges = locks.flatMap(({ lock, holders }) =>
    holders.flatMap((holder) =>
      holder.stolen
        ? []
        : (holder.owner.waitsFor ?? []).map((note): Edge => ({ lock, holder, note })),
    ),
  )
  for (;;) {
    const stuck = new Set(edges.map(({ holder }) => holder))
    const still = edges.filter(({ note }) => isBlocked(byName.get(note.lock), note, stuck))
    if (still.length === edges.length) return edges
    edges = still
  }
}

/** Whether the stuck holders of the lock keep the wait from its grant. */
function isBlocked(
  lock: SeenLock | undefined,
  { weight, claimId }: WaitNote,
  stuck: ReadonlySet<SeenHolder>,
): boolean {
  if (!lock) return false
  let held = 0
  for (const holder of lock.holders) if (stuck.has(holder)) held += holder.weight
  if (held === 0) return false
  if (held + weight > lock.capacity) return true
  const place = lock.waiters.findIndex((waiter) => waiter.claimId === claimId)
  return lock.waiters.some((ahead, index) => index < place && held + ahead.weight > lock.capacity)
}

function reachFrom(lock: string, edges: readonly Edge[]): ReadonlySet<string> {
  const found = new Set([lock])
  // A set also visits what is added meanwhile.
  for (const at of found) for (const edge of edges) if (edge.lock === at) found.add(edge.note.lock)
  return found
}

function deadlockOf(edges: readonly Edge[]): Deadlock {
  const waits = [...new Map(edges.map(({ note }) => [note.id, note])).values()]
  const victim = waits.reduce((last, note) => (isLater(note, last) ? note : last))
  const names = edges.map(({ lock, holder, note }) =>
    [lock, holder.claimId, note.id, note.lock].join(' '),
  )
  const id = digest(names.sort().join('\n'))
  return {
    id,
    waits,
    isNamed: edges.every(({ note }) => note.cycle === id),
    victim,
    steps: cycleThrough(victim, edges).map(stepOf),
  }
}

function isLater(one: WaitNote, other: WaitNote): boolean {
  return one.sinceMs === other.sinceMs ? one.id > other.id : one.sinceMs > other.sinceMs
}

/** Searches breadth first, from the lock that the victim waits for to one that it holds. */
function cycleThrough(victim: WaitNote, edges: readonly Edge[]): readonly Edge[] {
  const paths = new Map<string, readonly Edge[]>([[victim.lock, []]])
  for (const [lock, path] of paths) {
    for (const edge of edges) {
      if (edge.lock !== lock) continue
      if (edge.note.id === victim.id) return [...path, edge]
      if (!paths.has(edge.note.lock)) paths.set(edge.note.lock, [...path, edge])
    }
  }
  return []
}

function stepOf({ lock, holder, note }: Edge): DeadlockStep {
  const { clientId, host, pid, label } = holder.owner
  const named = label === undefined ? {} : { label }
  return { lock, claimId: holder.claimId, clientId, host, pid, ...named, waitsFor: note.lock }
}

/** Returns 53 bits of a hash: cyrb53 by bryc, public domain. */
function digest(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36)
}
