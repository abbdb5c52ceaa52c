/**
 * The graph of the waits of work that holds leases, and the cycles in it.
 *
 * A wait is stuck when the stuck holders of its lock leave no room for its claim, or for a waiter
 * ahead of it. No claim overtakes another. Every other wait ends by itself. The reduction
 * removes such waits until none is left to remove (Holt, "Some Deadlock Properties of Computer
 * Systems", 1972). It sees no holders in processes that wait for less than `deadlockCheckMs`, so it
 * errs towards "not stuck".
 */
import type { DeadlockStep } from './deadlock-error.js'
import { addTo } from '../../collections/lists.js'
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
  /** All stuck waits, the victim included. */
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
  const from = edgesByLock(edges)
  const componentOf = components(from)
  const cycles = new Map<number, Edge[]>()
  for (const edge of edges) {
    const component = componentOf.get(edge.lock)
    if (component === undefined || component !== componentOf.get(edge.note.lock)) continue
    addTo(cycles, component, edge)
  }
  return Array.from(cycles.values(), deadlockOf)
}

/** The edges that are left when each wait that can end has been removed. */
function stuckEdges(locks: readonly SeenLock[]): readonly Edge[] {
  const byName = new Map(locks.map((seen) => [seen.lock, new StuckHolders(seen)]))
  const edges = locks.flatMap(edgesFrom)
  const waitingFor = new Map<string, Edge[]>()
  for (const edge of edges) {
    byName.get(edge.lock)?.add(edge.holder)
    addTo(waitingFor, edge.note.lock, edge)
  }
  const ended = new Set<Edge>()
  // A queue of locks whose waits may end.
  const changed = new Set(waitingFor.keys())
  for (const [lock, waiting] of waitingFor) byName.get(lock)?.sort(waiting)
  for (const lock of changed) {
    changed.delete(lock)
    const waiting = waitingFor.get(lock) ?? []
    for (let edge = waiting.at(-1); edge && byName.get(lock)?.blocks(edge.note) !== true;) {
      waiting.pop()
      ended.add(edge)
      if (byName.get(edge.lock)?.remove(edge.holder) === true) changed.add(edge.lock)
      edge = waiting.at(-1)
    }
  }
  return edges.filter((edge) => !ended.has(edge))
}

/** Returns the waits that the holders of a lock have noted. */
function edgesFrom({ lock, holders }: SeenLock): Edge[] {
  return holders.flatMap((holder) => {
    const notes = holder.stolen ? [] : (holder.owner.waitsFor ?? [])
    return notes.map((note) => ({ lock, holder, note }))
  })
}

/** What the stuck holders of one lock leave of its capacity. */
class StuckHolders {
  readonly #lock: SeenLock
  /** How many stuck waits each holder has. */
  readonly #waits = new Map<SeenHolder, number>()
  #heaviest: ReadonlyMap<string, number> | undefined
  #held = 0

  constructor(lock: SeenLock) {
    this.#lock = lock
  }

  add(holder: SeenHolder): void {
    const waits = this.#waits.get(holder) ?? 0
    if (waits === 0) this.#held += holder.weight
    this.#waits.set(holder, waits + 1)
  }

  /** Returns whether it was the last stuck wait of this holder. */
  remove(holder: SeenHolder): boolean {
    const waits = (this.#waits.get(holder) ?? 1) - 1
    if (waits > 0) {
      this.#waits.set(holder, waits)
      return false
    }
    this.#waits.delete(holder)
    this.#held -= holder.weight
    return true
  }

  /** Sorts waits for this lock so that the first one that can end stands last. */
  sort(edges: Edge[]): void {
    const rooms = new Map(edges.map((edge) => [edge, this.#roomFor(edge.note)]))
    edges.sort((one, other) => (rooms.get(other) ?? 0) - (rooms.get(one) ?? 0))
  }

  /** Whether these holders keep the wait from its grant. */
  blocks(note: WaitNote): boolean {
    return this.#held > 0 && this.#held + this.#roomFor(note) > this.#lock.capacity
  }

  /**
   * Returns how much of the capacity must be free for the claim of a wait. That is as much as the
   * heaviest waiter ahead needs, since nothing overtakes it.
   */
  #roomFor({ weight, claimId }: WaitNote): number {
    if (claimId === undefined) return weight
    this.#heaviest ??= heaviestBefore(this.#lock.waiters)
    return Math.max(weight, this.#heaviest.get(claimId) ?? 0)
  }
}

function heaviestBefore(waiters: SeenLock['waiters']): ReadonlyMap<string, number> {
  const heaviest = new Map<string, number>()
  let weight = 0
  for (const waiter of waiters) {
    if (!heaviest.has(waiter.claimId)) heaviest.set(waiter.claimId, weight)
    weight = Math.max(weight, waiter.weight)
  }
  return heaviest
}

function edgesByLock(edges: readonly Edge[]): ReadonlyMap<string, readonly Edge[]> {
  const from = new Map<string, Edge[]>()
  for (const edge of edges) addTo(from, edge.lock, edge)
  return from
}

/** A lock on the path of the search of `components`. */
interface Visit {
  readonly lock: string
  readonly edges: Iterator<Edge>
}

/**
 * Numbers the strongly connected components: locks that reach each other have the same number. This
 * is the algorithm of Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972, without
 * recursion.
 */
function components(from: ReadonlyMap<string, readonly Edge[]>): ReadonlyMap<string, number> {
  const componentOf = new Map<string, number>()
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const path: Visit[] = []
  const enter = (lock: string): void => {
    low.set(lock, order.size)
    order.set(lock, order.size)
    open.push(lock)
    path.push({ lock, edges: (from.get(lock) ?? [])[Symbol.iterator]() })
  }
  const lower = (lock: string, number = 0): void =>
    void low.set(lock, Math.min(low.get(lock) ?? 0, number))
  const leave = (lock: string): void => {
    path.pop()
    const parent = path.at(-1)
    if (parent) lower(parent.lock, low.get(lock))
    if (low.get(lock) !== order.get(lock)) return
    const component = order.get(lock) ?? 0
    for (let member: string | undefined; member !== lock;) {
      member = open.pop() ?? lock
      componentOf.set(member, component)
    }
  }
  for (const start of from.keys()) {
    if (!order.has(start)) enter(start)
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const step = top.edges.next()
      if (step.done === true) {
        leave(top.lock)
        continue
      }
      const next = step.value.note.lock
      if (!order.has(next)) enter(next)
      else if (!componentOf.has(next)) lower(top.lock, order.get(next))
    }
  }
  return componentOf
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
  const from = edgesByLock(edges)
  /** The edge by which the search came to each lock. */
  const cameBy = new Map<string, Edge | undefined>([[victim.lock, undefined]])
  for (const lock of cameBy.keys()) {
    for (const edge of from.get(lock) ?? []) {
      if (edge.note.id === victim.id) return pathTo(edge, cameBy)
      if (!cameBy.has(edge.note.lock)) cameBy.set(edge.note.lock, edge)
    }
  }
  return []
}

function pathTo(last: Edge, cameBy: ReadonlyMap<string, Edge | undefined>): readonly Edge[] {
  const path: Edge[] = []
  for (let edge: Edge | undefined = last; edge; edge = cameBy.get(edge.lock)) path.push(edge)
  return path.toReversed()
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
