/**
 * Which waits of a client stand under which of its leases, by lock. Whether a new wait closes a
 * cycle is found from that wait alone: nothing is read to which it does not lead.
 */
import { addTo } from '../../collections/lists.js'
import type { Owner, WaitNote } from '../../store/contract.js'
import type { SeenLock } from './find-deadlocks.js'
import type { OuterLease, WaitUnderLeases } from './wait-under-leases.js'

/** A lock that work holds, or waits for. */
class LockNode {
  /** The waits under leases of the lock. */
  readonly under = new Set<WaitUnderLeases>()
  /** The leases under which work waits, with the number of its waits, and the weight at first. */
  readonly leases = new Map<OuterLease, { waits: number; readonly weight: number }>()
  /** What these leases weigh together. Leases only get lighter, so it may be too much. */
  held = 0
  /** The locks that work under these leases waits for, with the number of its waits. */
  readonly ahead = new Map<string, number>()
  /** The locks of the leases under which work waits for this one, likewise. */
  readonly behind = new Map<string, number>()

  get capacity(): number | undefined {
    for (const { capacity } of this.leases.keys()) return capacity
    return undefined
  }

  get isEmpty(): boolean {
    return this.under.size === 0 && this.behind.size === 0
  }

  add(wait: WaitUnderLeases, lease: OuterLease): void {
    this.under.add(wait)
    const known = this.leases.get(lease)
    if (known) known.waits += 1
    else {
      this.leases.set(lease, { waits: 1, weight: lease.weight })
      this.held += lease.weight
    }
  }

  remove(wait: WaitUnderLeases, lease: OuterLease): void {
    this.under.delete(wait)
    const known = this.leases.get(lease)
    if (!known) return
    known.waits -= 1
    if (known.waits > 0) return
    this.leases.delete(lease)
    this.held -= known.weight
  }
}

export interface WaitPaths {
  readonly locks: readonly SeenLock[]
  readonly waits: ReadonlyMap<string, WaitUnderLeases>
}

export class WaitGraph {
  /** How many steps from a lock to a neighbour its searches took. Tests count them. */
  steps = 0
  readonly #nodes = new Map<string, LockNode>()

  /** @param leases the leases under which the wait begins: later there are only fewer */
  add(wait: WaitUnderLeases, leases: ReadonlySet<OuterLease>): void {
    for (const lease of leases) this.#node(lease.name).add(wait, lease)
    this.#count(wait.lock, leases, 1)
  }

  /** @param leases the leases with which it was added */
  remove(wait: WaitUnderLeases, leases: ReadonlySet<OuterLease>): void {
    for (const lease of leases) this.#node(lease.name).remove(wait, lease)
    this.#count(wait.lock, leases, -1)
    for (const name of [wait.lock, ...Array.from(leases, (lease) => lease.name)])
      if (this.#nodes.get(name)?.isEmpty === true) this.#nodes.delete(name)
  }

  /**
   * Whether the wait may be part of a cycle: the answer false is certain. One search follows the
   * waits from the wanted lock on, another one follows them back from the held locks, one step each
   * in turn. So the shorter of them decides how long this takes.
   */
  mayClose(wait: WaitUnderLeases, leases: ReadonlySet<OuterLease>): boolean {
    // Holders that wait for nothing leave room by themselves.
    if ((this.#nodes.get(wait.lock)?.held ?? 0) + wait.weight <= wait.capacity) return false
    const held = new Set(Array.from(leases, ({ name }) => name))
    if (held.has(wait.lock)) return true
    const ahead = this.#search([wait.lock], (node) => node.ahead)
    const behind = this.#search(held, (node) => node.behind)
    for (;;) {
      const next = ahead.next()
      if (next.done === true) return false
      if (held.has(next.value)) return true
      const previous = behind.next()
      if (previous.done === true) return false
      if (previous.value === wait.lock) return true
    }
  }

  /**
   * Returns the locks to which a wait leads, as far as the leases of this client block them. It
   * also returns the waits under these leases, by their ids.
   */
  pathsFrom({ lock }: WaitUnderLeases, store: object, owner: Owner): WaitPaths {
    const locks: SeenLock[] = []
    const waits = new Map<string, WaitUnderLeases>()
    const names = new Set([lock])
    // A set also visits what is added meanwhile.
    for (const name of names) {
      const node = this.#nodes.get(name)
      const capacity = node?.capacity
      if (!node || capacity === undefined) continue
      const notes = new Map<OuterLease, WaitNote[]>()
      for (const wait of node.under) {
        this.steps += 1
        // The store refuses a claim of another capacity. Without a lease here nothing here blocks.
        if (this.#nodes.get(wait.lock)?.capacity !== wait.capacity) continue
        names.add(wait.lock)
        waits.set(wait.id, wait)
        for (const lease of wait.leases(store))
          if (lease.name === name) addTo(notes, lease, wait.note)
      }
      const holders = Array.from(notes, ([{ claimId, weight }, waitsFor]) => ({
        ...{ claimId, weight, stolen: false },
        owner: { ...owner, waitsFor },
      }))
      locks.push({ lock: name, capacity, holders, waiters: [] })
    }
    return { locks, waits }
  }

  #node(name: string): LockNode {
    let node = this.#nodes.get(name)
    if (!node) this.#nodes.set(name, (node = new LockNode()))
    return node
  }

  #count(lock: string, leases: ReadonlySet<OuterLease>, change: number): void {
    for (const { name } of leases) {
      count(this.#node(name).ahead, lock, change)
      count(this.#node(lock).behind, name, change)
    }
  }

  *#search(
    start: Iterable<string>,
    neighbours: (node: LockNode) => ReadonlyMap<string, number>,
  ): Generator<string, void> {
    const seen = new Set(start)
    for (const lock of seen) {
      const node = this.#nodes.get(lock)
      if (!node) continue
      for (const next of neighbours(node).keys()) {
        this.steps += 1
        seen.add(next)
        yield next
      }
    }
  }
}

function count(counts: Map<string, number>, key: string, change: number): void {
  const next = (counts.get(key) ?? 0) + change
  if (next > 0) counts.set(key, next)
  else counts.delete(key)
}
