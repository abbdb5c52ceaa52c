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
import { DeadlockError } from './deadlock-error.js'
import type { LockInfo, Owner, Renewal, Store, WaitNote } from '../../store/contract.js'
import { outsideContext } from '../../async/async-context.js'
import {
  WaitUnderLeases,
  type NestedRequest,
  type OuterLease,
  type PendingWait,
} from './wait-under-leases.js'
import { findDeadlocks, type Deadlock, type SeenHolder } from './find-deadlocks.js'

/** The shortest and longest pause between two rounds, in milliseconds. */
const SUSPECTED_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 400
/** How long the note of a wait may outlast it, in milliseconds. */
const CLEAR_AFTER_MS = 25
/** The longest list of waits that a lease shows. */
const MOST_NOTES = 16
/** The most locks that a round looks at. */
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
  readonly #waits = new LinkedSet<WaitUnderLeases>()
  /** How many of these waits wait for each lock. */
  readonly #waitsFor = new Map<string, number>()
  /** The notes that the store has for each lease, as JSON; '' while that is unknown. */
  readonly #shown = new Map<OuterLease, string>()
  #lastShow: Promise<void> = Promise.resolve()
  #timer: Timer | undefined
  #clearsSoon = false
  #isInRound = false
  #pauseMs = SUSPECTED_PAUSE_MS

  /** @param checkMs after which time other clients are asked; Infinity for never */
  constructor(context: DetectorContext, checkMs: number) {
    this.#context = context
    const { inspect, fair } = context.store.traits
    this.#checkMs = inspect && fair ? checkMs : Infinity
  }

  /** Adds a wait that begins. Returns the function that removes it when it has settled. */
  add(wait: PendingWait, request: NestedRequest): () => void {
    const { store, clock, random } = this.#context
    const nested = new WaitUnderLeases(wait, request, clock.wallMs(), () => random.id())
    const place = this.#waits.add(nested)
    this.#count(wait.lock, 1)
    // The caller enters its queue first.
    if ([...nested.leases(store)].some(({ name }) => this.#waitsFor.has(name)))
      outsideContext(() => void Promise.resolve().then(() => this.#checkHere(nested)))
    if (!this.#timer && !this.#isInRound) this.#arm(this.#checkMs)
    return () => {
      this.#waits.delete(place)
      this.#count(wait.lock, -1)
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

  #count(lock: string, change: number): void {
    const count = (this.#waitsFor.get(lock) ?? 0) + change
    if (count > 0) this.#waitsFor.set(lock, count)
    else this.#waitsFor.delete(lock)
  }

  /** Looks for a cycle inside this client. Its leases block these waits by themselves. */
  #checkHere(nested: WaitUnderLeases): void {
    const { store, owner } = this.#context
    const waits = this.#waits.values()
    const capacities = new Map<string, number>()
    for (const wait of waits) {
      for (const { name, capacity } of wait.leases(store)) capacities.set(name, capacity)
    }
    const notes = new Map<OuterLease, WaitNote[]>()
    for (const wait of waits) {
      // The store refuses a claim of another capacity. Without a lease here nothing here blocks it.
      if (capacities.get(wait.wait.lock) !== wait.capacity) continue
      for (const lease of wait.leases(store)) addTo(notes, lease, wait.note)
    }
    const locks = new Map<string, { lock: string; capacity: number; holders: SeenHolder[] }>()
    for (const [{ name, capacity, claimId, weight }, waitsFor] of notes) {
      const lock = locks.get(name) ?? { lock: name, capacity, holders: [] }
      lock.holders.push({ claimId, weight, owner: { ...owner, waitsFor }, stolen: false })
      locks.set(name, lock)
    }
    const seen = Array.from(locks.values(), (lock) => ({ ...lock, waiters: [] }))
    for (const deadlock of findDeadlocks(seen)) {
      const victim = waits.find(({ id }) => id === deadlock.victim.id)
      if (victim && deadlock.waits.some(({ id }) => id === nested.id)) this.#fail(victim, deadlock)
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
    return this.#waits
      .values()
      .filter((nested) => nested.wait.startedMs <= sinceMs && this.#leasesOf(nested).size > 0)
  }

  #leasesOf(nested: WaitUnderLeases): Set<OuterLease> {
    return nested.leases(this.#context.store)
  }

  /** Resolves to whether a wait of this client is in a cycle, as far as the notes show. */
  async #round(): Promise<boolean> {
    let isSuspected = false
    try {
      await this.#show()
      const deadlocks = findDeadlocks(await this.#look())
      for (const nested of this.#due()) {
        const deadlock = deadlocks.find(({ waits }) => waits.some(({ id }) => id === nested.id))
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
      for (const lease of this.#leasesOf(nested)) addTo(notes, lease, nested.note)
    }
    const changes: { lease: OuterLease; text: string; renewal: Renewal }[] = []
    for (const [lease, waits] of notes) {
      const text = JSON.stringify(waits.slice(0, MOST_NOTES))
      if (this.#shown.get(lease) === text) continue
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
    const { store } = this.#context
    const found: LockInfo[] = []
    const known = new Set<string>()
    let next = this.#due().map(({ wait }) => wait.lock)
    while (next.length > 0 && known.size < MOST_LOCKS) {
      const names = [...new Set(next)].filter((name) => !known.has(name))
      for (const name of names) known.add(name)
      const pages = await Promise.all(names.map(async (lock) => store.inspect({ lock })))
      const locks = pages.flatMap((page) => page.locks)
      found.push(...locks)
      next = locks.flatMap(({ holders }) =>
        holders.flatMap(({ owner }) => (owner.waitsFor ?? []).map(({ lock }) => lock)),
      )
    }
    return found
  }
}

function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
