/**
 * Finds the deadlocks of a client's waits, and ends one wait of each.
 *
 * A cycle inside this client is found when it closes. For the others, each client notes on the
 * leases of work that has waited for `deadlockCheckMs` what that work waits for. Then it follows
 * the notes of other clients, again and again, from the lock that its own work waits for.
 *
 * Reports are true, although each lock is read at another moment. A client that sees a cycle adds
 * the name of the cycle to its notes. A wait fails only when a later look shows the same locks,
 * claims and waits, and all notes have the name. The cycle existed at the instant at which the
 * first client sent that name. By then that client had seen all of it. Each other client sent the
 * name later, for a wait that was not over. And a claim that was lost is never granted again.
 */
import type { Clock, Random, Timer } from '../../clock/clock.js'
import { LinkedSet } from '../../collections/linked-set.js'
import { addTo } from '../../collections/lists.js'
import { DeadlockError } from './deadlock-error.js'
import type { LockInfo, Owner, Renewal, Store, WaitNote } from '../../store/contract.js'
import { outsideContext } from '../../async/async-context.js'
import {
  WaitUnderLeases,
  type NestedRequest,
  type OuterLease,
  type PendingWait,
} from './wait-under-leases.js'
import { findDeadlocks, type Deadlock } from './find-deadlocks.js'
import { WaitGraph } from './wait-graph.js'

/** The shortest and longest pause between two rounds, in milliseconds. */
const SUSPECTED_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 400
/** How long the note of a wait may outlast it, in milliseconds. */
const CLEAR_AFTER_MS = 25
/** The longest list of waits that a lease shows. */
const MOST_NOTES = 16
/** Of how many locks a round follows the waits at most, besides those of suspected waits. */
const MOST_LOCKS = 100

export interface DetectorContext {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly owner: Owner
}

export class DeadlockDetector {
  readonly #context: DetectorContext
  readonly #checkMs: number
  /** @internal */
  readonly graph = new WaitGraph()
  readonly #waits = new LinkedSet<WaitUnderLeases>()
  /** The notes that the store has for each lease, as JSON; '' while that is unknown. */
  readonly #shown = new Map<OuterLease, string>()
  #lastShow: Promise<void> = Promise.resolve()
  #timer: Timer | undefined
  /** With which of the wanted locks the next round begins. */
  #nextLock = 0
  #clearsSoon = false
  #isInRound = false
  #pauseMs = SUSPECTED_PAUSE_MS

  /** @param checkMs after which time other clients are asked; Infinity for never */
  constructor(context: DetectorContext, checkMs: number) {
    this.#context = context
    const { fair } = context.store.traits
    this.#checkMs = fair ? checkMs : Infinity
  }

  /** Adds a wait that begins. Returns the function that removes it when it has settled. */
  add(wait: PendingWait, request: NestedRequest): () => void {
    const { store, clock, random } = this.#context
    const nested = new WaitUnderLeases(wait, request, clock.wallMs(), () => random.id())
    const leases = nested.leases(store)
    if (leases.size === 0) return () => undefined
    const place = this.#waits.add(nested)
    this.graph.add(nested, leases)
    // The caller enters its queue first.
    if (this.graph.mayClose(nested, leases))
      outsideContext(() => void Promise.resolve().then(() => this.#checkHere(nested)))
    if (!this.#timer && !this.#isInRound) this.#arm(this.#checkMs)
    return () => {
      this.#waits.delete(place)
      this.graph.remove(nested, leases)
      if (nested.isShown) this.#clearSoon()
    }
  }

  /** Sends one request for the waits that end at about the same time. */
  #clearSoon(): void {
    if (this.#clearsSoon) return
    this.#clearsSoon = true
    const clear = (): void => {
      this.#clearsSoon = false
      void this.#show()
    }
    outsideContext(() => this.#context.clock.timer(CLEAR_AFTER_MS, clear, true))
  }

  /** Looks for a cycle inside this client. Its leases block these waits by themselves. */
  #checkHere(nested: WaitUnderLeases): void {
    const { store, owner } = this.#context
    const isThis = ({ id }: WaitNote): boolean => id === nested.id
    for (;;) {
      const { locks, waits } = this.graph.pathsFrom(nested, store, owner)
      const deadlock = findDeadlocks(locks).find((found) => found.waits.some(isThis))
      const victim = deadlock && waits.get(deadlock.victim.id)
      if (!victim) return
      this.#fail(victim, deadlock)
      // The wait of another caller has ended. This one may be in a further cycle.
      if (victim === nested) return
    }
  }

  #fail({ wait }: WaitUnderLeases, { steps }: Deadlock): void {
    wait.giveUp(new DeadlockError(steps, { lock: wait.lock, store: this.#context.store.name }))
  }

  #arm(delayMs: number): void {
    if (delayMs === Infinity) return
    const { clock } = this.#context
    this.#timer = outsideContext(() => clock.timer(delayMs, () => void this.#tick(), true))
  }

  async #tick(): Promise<void> {
    const { clock, random } = this.#context
    const startMs = clock.monotonicMs()
    this.#timer = undefined
    if (this.#due(startMs).length === 0) {
      this.#arm(this.#nextDueMs(startMs))
      return
    }
    this.#isInRound = true
    const isSuspected = await this.#round()
    this.#isInRound = false
    const endMs = clock.monotonicMs()
    this.#pauseMs = isSuspected
      ? SUSPECTED_PAUSE_MS
      : Math.max(endMs - startMs, Math.min(LONGEST_PAUSE_MS, 1.5 * this.#pauseMs))
    this.#arm(Math.min(this.#pauseMs * (0.75 + random.next() / 4), this.#nextDueMs(endMs)))
  }

  /**
   * After which time the next wait is due that is not due at a moment. Infinity without one. With a
   * later moment than that of `#due`, a wait could be in neither, and would never be looked for.
   */
  #nextDueMs(nowMs: number): number {
    const sinceMs = nowMs - this.#checkMs
    const next = this.#waits.values().find(({ wait }) => wait.startedMs > sinceMs)
    return next ? Math.max(SUSPECTED_PAUSE_MS, next.wait.startedMs - sinceMs) : Infinity
  }

  /** The waits that have lasted long enough, and hold leases. */
  #due(nowMs = this.#context.clock.monotonicMs()): WaitUnderLeases[] {
    const sinceMs = nowMs - this.#checkMs
    const { store } = this.#context
    return this.#waits
      .values()
      .filter((nested) => nested.wait.startedMs <= sinceMs && nested.isUnderLeases(store))
  }

  /** Resolves to whether a wait of this client is in a cycle, as far as the notes show. */
  async #round(): Promise<boolean> {
    let isSuspected = false
    try {
      await this.#show()
      const found = new Map<string, Deadlock>()
      for (const deadlock of findDeadlocks(await this.#look()))
        for (const { id } of deadlock.waits) found.set(id, deadlock)
      for (const nested of this.#due()) {
        const deadlock = found.get(nested.id)
        isSuspected ||= deadlock !== undefined
        nested.cycle = deadlock?.id
        if (deadlock?.isNamed === true && deadlock.victim.id === nested.id)
          this.#fail(nested, deadlock)
      }
      if (isSuspected) await this.#show()
    } catch {
      // The store does not answer: the waits themselves report that.
    }
    return isSuspected
  }

  /** Shows the waits of this client in the store, where it shows others. One change at a time. */
  #show(): Promise<void> {
    return (this.#lastShow = this.#lastShow.then(() => this.#showNow()).catch(() => undefined))
  }

  async #showNow(): Promise<void> {
    const notes = new Map<OuterLease, WaitNote[]>()
    for (const lease of this.#shown.keys()) notes.set(lease, [])
    for (const nested of this.#due()) {
      nested.isShown = true
      const { note } = nested
      for (const lease of nested.leases(this.#context.store)) addTo(notes, lease, note)
    }
    const changes: { lease: OuterLease; text: string; renewal: Renewal }[] = []
    for (const [lease, waits] of notes) {
      const text = JSON.stringify(waits.slice(0, MOST_NOTES))
      if (this.#shown.get(lease) === text && lease.isRenewedElsewhere !== true) continue
      const renewal = lease.noteWaits(waits.slice(0, MOST_NOTES))
      if (renewal) changes.push({ lease, text, renewal })
      else this.#shown.delete(lease)
    }
    if (changes.length === 0) return
    for (const { lease } of changes) this.#shown.set(lease, '')
    const results = await this.#context.store.renew(changes.map(({ renewal }) => renewal))
    for (const [index, { lease, text }] of changes.entries()) {
      if (results[index]?.outcome === 'unknown') continue
      if (text === '[]') this.#shown.delete(lease)
      else this.#shown.set(lease, text)
    }
  }

  /** Reads the locks that these waits wait for, then those of the holders' waits, and so on. */
  async #look(): Promise<LockInfo[]> {
    const found = new Map<string, LockInfo>()
    const known = new Set<string>()
    let next = this.#nextLocks()
    while (next.length > 0 && known.size < 2 * MOST_LOCKS) {
      for (const name of next) known.add(name)
      const locks = await this.#context.store.inspect(next, [])
      for (const info of locks) found.set(info.lock, info)
      next = [...new Set(locks.flatMap(notesOf).map(({ lock }) => lock))]
        .filter((name) => !known.has(name))
        .slice(0, MOST_LOCKS)
    }
    const { store } = this.#context
    const waiting = Array.from(claimsOfWaiters(found), async ([lock, claims]) =>
      store.inspect([lock], claims),
    )
    for (const info of (await Promise.all(waiting)).flat()) found.set(info.lock, info)
    return [...found.values()]
  }

  /** The locks of suspected waits, and of other ones as many as a round reads, each in its turn. */
  #nextLocks(): string[] {
    const due = this.#due()
    const names = new Set(due.filter(({ cycle }) => cycle !== undefined).map(({ lock }) => lock))
    const others = [...new Set(due.map(({ lock }) => lock))]
    const most = Math.min(others.length, MOST_LOCKS)
    for (let count = 0; count < most; count += 1)
      names.add(others[(this.#nextLock + count) % others.length] ?? '')
    this.#nextLock = (this.#nextLock + most) % Math.max(1, others.length)
    return [...names]
  }
}

function notesOf({ holders }: LockInfo): WaitNote[] {
  return holders.flatMap(({ owner, stolen }) => (stolen ? [] : (owner.waitsFor ?? [])))
}

/**
 * Returns the claims up to which the waiters of a lock matter, by lock. The waiters decide only for
 * a wait for which its holders leave room. Among these holders only those count that wait
 * themselves. Nearly no lock is read again.
 */
function claimsOfWaiters(found: ReadonlyMap<string, LockInfo>): ReadonlyMap<string, string[]> {
  const rooms = new Map([...found.values()].map((info) => [info.lock, roomBesideWaiting(info)]))
  const claims = new Map<string, string[]>()
  for (const { lock, weight, claimId } of [...found.values()].flatMap(notesOf))
    if (claimId !== undefined && (rooms.get(lock) ?? 0) >= weight) addTo(claims, lock, claimId)
  return claims
}

/** What holders that wait leave of the capacity. 0 without such holders: nothing is stuck then. */
function roomBesideWaiting({ capacity, holders }: LockInfo): number {
  let held = 0
  for (const { stolen, owner, weight } of holders)
    if (!stolen && owner.waitsFor !== undefined) held += weight
  return held === 0 ? 0 : capacity - held
}
