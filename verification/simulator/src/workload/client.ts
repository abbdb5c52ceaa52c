/** One process at work: its locks, and what it believes to hold. */
import { isLockError, type LockError, type Lease, type Locks } from 'holdfast'
import type { HistoryNote } from '@holdfast/conformance'
import type { Store } from 'holdfast/store'
import {
  AbortedByCaller,
  Belief,
  EXPECTED_CODES,
  exportLease,
  incrementLate,
  Targets,
  type Claimed,
  type Dice,
  type EndedWait,
  type Environment,
  type Heir,
  type Instruments,
  type Operation,
  type Resource,
  type Target,
} from '@holdfast/workload'
import type { Runtime } from '../runtime.js'
import type { Agenda } from '../world/agenda.js'
import type { Process } from '../world/process.js'
import { adoptLease } from './adoption.js'
import type { Claimants } from './claimants.js'
import type { Breach, Circumstances } from './circumstances.js'
import { nanoseconds, type Chronicle } from './chronicle.js'
import type { FencedCounters } from './fenced-counter.js'
import type { Exported, HandOvers } from './hand-overs.js'

export interface ClientOptions {
  readonly createLocks: Runtime['createLocks']
  readonly agenda: Agenda
  readonly process: Process
  readonly store: Store
  readonly chronicle: Chronicle
  readonly counters: FencedCounters
  readonly dice: Dice
  readonly ttlMs: number
  /** Whether the store keeps entries that are bound to sessions. */
  readonly keepsEntries: boolean
  readonly awaitRelease: boolean
  readonly circumstances: Circumstances
  readonly claimants: Claimants
  readonly handOvers: HandOvers
  /** Asks the truth, which no program can. */
  readonly serverHolds: (claimId: string) => boolean
}

/** By how much a timer may be late, and some more for an answer of the event loop. */
const LOSS_WITHIN_MS = 10
/** How long after its work was cut a holder looks at its lease again. */
const LOOK_AGAIN_MS = 60
/** The clock of a process may be fast, so a wait may end so early by the true one. */
const EARLY_SHARE = 0.99
const EARLY_MS = 1
/** Differences below this come from converting times. */
const ROUNDING_NS = 1000n

export class Client implements Environment {
  readonly locks: Locks
  readonly resource: Resource
  waiting = 0
  readonly #options: ClientOptions
  readonly #targets: Targets
  readonly #beliefs = new Set<Belief>()
  /** Until when a lease in doubt lasts at most. */
  readonly #inDoubtMs = new Map<Belief, number>()

  constructor(options: ClientOptions) {
    this.#options = options
    const { createLocks, store, ttlMs, awaitRelease, process, dice } = options
    this.locks = createLocks(store, {
      ttlMs,
      awaitRelease,
      clock: process,
      random: { next: () => dice.unit(), id: () => dice.id() },
    })
    this.#targets = new Targets(this.locks)
    this.resource = this.#makeResource()
  }

  get process(): Process {
    return this.#options.process
  }

  get beliefs(): ReadonlySet<Belief> {
    return this.#beliefs
  }

  get closing(): boolean {
    return this.#options.circumstances.closing
  }

  nowMs(): number {
    return this.#options.agenda.nowMs
  }

  sleep(ms: number): Promise<number> {
    return new Promise((resolve) => void this.process.timer(ms, () => resolve(ms)))
  }

  after(ms: number, act: () => void): void {
    this.process.timer(ms, act)
  }

  target(operation: Operation): Target {
    return this.#targets.of(operation)
  }

  call<T>(actor: string, lock: string, request: () => Promise<T>): Promise<T> {
    return this.#options.claimants.asking({ actor, lock }, request)
  }

  steal(lock: string): Promise<unknown> {
    return this.locks.steal(lock)
  }

  believe(actor: string, lease: Lease, claimed: Claimed): Belief {
    const belief = new Belief(actor, lease, claimed, this.#instruments(actor))
    belief.begin()
    this.#options.claimants.served(actor, lease.claimId, lease.token)
    this.#beliefs.add(belief)
    if (lease.held) this.#expectLoss(belief)
    else this.#options.circumstances.breach(stillborn(belief))
    return belief
  }

  forget(belief: Belief): void {
    this.#beliefs.delete(belief)
  }

  workBegan(belief: Belief): void {
    belief.lease.signal.addEventListener('abort', () => belief.lose(), { once: true })
  }

  /**
   * While the clocks disagree a lease is in doubt: it may be held again when the store has
   * answered.
   */
  async workCut({ lease, key, actor }: Belief): Promise<void> {
    await this.sleep(LOOK_AGAIN_MS)
    if (!lease.held || this.#options.serverHolds(lease.claimId)) return
    const message = `"${key}" was in doubt, and is held again by ${actor}, though the server holds it for others.`
    this.#options.circumstances.breach({ property: 'regained', key, message })
  }

  /** A caller waits for its whole `waitMs`, also when the store is away. */
  waitEnded({ actor, lock, how, waitMs, waitedMs, error }: EndedWait): void {
    if (how === 'adopt') return this.#adoptionFailed(actor, lock, error)
    if (how === 'try' || !isLockError(error)) return
    if (error.code !== 'STORE_UNAVAILABLE' && error.code !== 'LOCK_TIMEOUT') return
    if (waitedMs >= waitMs * EARLY_SHARE - EARLY_MS) return
    const message =
      `${actor} was to wait ${waitMs.toFixed(0)} ms for "${lock}", ` +
      `and got ${error.code} after ${waitedMs.toFixed(0)} ms.`
    this.#options.circumstances.breach({ property: 'full-wait', key: lock, message })
  }

  async handOver(belief: Belief, operation: Operation): Promise<boolean> {
    const { actor, key, lease, isExclusive } = belief
    const handle = await exportLease(this, belief)
    if (handle === undefined) return false
    if (lease.held) this.#breach('exported', key, `${actor} still holds what it has exported.`)
    // A writer may have become a reader.
    const passed = { ...operation, write: isExclusive }
    const exported = { operation: passed, handle, token: lease.token, adoptions: 0 }
    this.#options.handOvers.offer(exported)
    await incrementLate(this, belief, operation.heirs)
    return true
  }

  /** Adopts a lease, works under it and releases it. */
  async adopt(name: string, exported: Exported, heir: Heir): Promise<void> {
    await adoptLease(this, name, exported, heir, this.#options.circumstances)
  }

  /** A refused adopter holds nothing in the store, or gives it back. */
  #adoptionFailed(actor: string, lock: string, error: unknown): void {
    const { agenda, claimants, serverHolds } = this.#options
    const claimId = claimants.adopterOf(actor)
    const isRefused = isLockError(error) && error.code === 'LOCK_LOST'
    if (!isRefused || claimId === undefined) return
    agenda.after(LOOK_AGAIN_MS, () => {
      if (!this.process.alive || !serverHolds(claimId) || claimants.withdrawn.has(claimId)) return
      this.#breach('adoption-refused', lock, `${actor} was refused, though it holds "${lock}".`)
    })
  }

  #breach(property: string, key: string, message: string): void {
    this.#options.circumstances.breach({ property, key, message })
  }

  async endure(error: unknown): Promise<void> {
    if (error instanceof AbortedByCaller) return
    if (isLockError(error) && (EXPECTED_CODES.includes(error.code) || isOfClocks(error))) return
    throw error
  }

  note(actor: string, note: HistoryNote): void {
    this.#options.chronicle.note(this.process.pid, actor, note)
  }

  fault(message: string): void {
    this.#options.circumstances.breach({ property: 'error', key: '', message })
  }

  /** A renewal of this claim was acknowledged. */
  renewed(claimId: string): void {
    for (const belief of this.#beliefs) {
      if (belief.lease.claimId !== claimId) continue
      belief.extend()
      // It left before the clocks parted. The lease is in doubt, and lasts no longer than this.
      // Reading `held` takes a moment, and may send a renewal, so other models do not.
      if (this.#options.keepsEntries && !belief.lease.held)
        this.#inDoubtMs.set(belief, this.nowMs() + this.#options.ttlMs)
    }
  }

  /** The process wakes: a lease that is over now was last believed when the process fell asleep. */
  woke(sinceMs: number | undefined): void {
    const sinceNs = sinceMs === undefined ? undefined : nanoseconds(sinceMs)
    for (const belief of this.#beliefs) belief.isHeld(sinceNs)
  }

  /** By its deadline a holder must have learned of the loss, unless its process was stopped. */
  #expectLoss(belief: Belief): void {
    const { agenda, circumstances } = this.#options
    const { process } = this
    const endMs = (): number =>
      Math.max(Number(belief.deadlineNs) / 1e6, this.#inDoubtMs.get(belief) ?? 0)
    agenda.at(Math.max(endMs(), agenda.nowMs) + LOSS_WITHIN_MS, () => {
      if (belief.isOver || !process.alive || belief.lease.signal.aborted) return
      const dueMs = endMs() + LOSS_WITHIN_MS
      if (agenda.nowMs < dueMs || process.awakeMs < LOSS_WITHIN_MS) this.#expectLoss(belief)
      else circumstances.breach(unannounced(belief))
    })
  }

  #instruments(actor: string): Instruments {
    const { agenda, chronicle } = this.#options
    const { process } = this
    return {
      nowNs: () => nanoseconds(agenda.nowMs),
      deadlineNs: ({ remainingMs }) =>
        nanoseconds(process.machine.trueMs(process.monotonicMs() + remainingMs)),
      toleranceNs: ROUNDING_NS,
      note: (note, atNs) => chronicle.note(process.pid, actor, note, atNs),
    }
  }

  /** The resource is a network away. */
  #makeResource(): Resource {
    const { counters } = this.#options
    return {
      read: (key, owner, token) => this.#visit(() => counters.read(key, owner, token)),
      write: async (key, owner, token, value) => ({
        accepted: await this.#visit(() => counters.write(key, owner, token, value)),
      }),
    }
  }

  #visit<T>(request: () => T): Promise<T> {
    const { agenda, dice, process } = this.#options
    return new Promise((resolve) => {
      agenda.after(dice.exponential(1, 10), () => {
        const answer = request()
        agenda.after(dice.exponential(1, 10), () => process.receive(() => resolve(answer)))
      })
    })
  }
}

function atMs({ deadlineNs }: Belief): string {
  return (Number(deadlineNs) / 1e6).toFixed(3)
}

function unannounced(belief: Belief): Breach {
  const { actor, key } = belief
  const message = `"${key}" was lost by ${actor} at ${atMs(belief)} ms, and its signal did not tell.`
  return { property: 'loss-announced', key, message }
}

function stillborn(belief: Belief): Breach {
  const { actor, key } = belief
  const message = `"${key}" was granted to ${actor} at ${atMs(belief)} ms, when that lease was over, or in doubt.`
  return { property: 'stillborn', key, message }
}

/** Redlock gives no token when steps have set its servers' clocks too far apart. */
function isOfClocks({ code, message }: LockError): boolean {
  return code === 'STORE_CONFIG' && message.includes('maxClockDifferenceMs')
}
