/** One real process at work: its locks, and what it believes to hold. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, Locks } from 'holdfast'
import { Recorder, type HistoryNote } from '@holdfast/conformance'
import {
  AbortedByCaller,
  Belief,
  EXPECTED_CODES,
  exportLease,
  incrementLate,
  targetOf,
  Targets,
  type Claimed,
  type Environment,
  type Heir,
  type Instruments,
  type LockChoice,
  type Operation,
  type Target,
} from '@holdfast/workload'
import type { Assignment, ExportedLease } from '../protocol.js'
import type { Library } from './library.js'
import { nowNs, type Log } from './log.js'
import { LossWatch } from './loss-watch.js'
import type { ResourceClient } from './resource.js'

/** The lease of a lock that is mostly free. */
export const PATIENT_TTL_MS = 20_000
const TURN_MS = 5
/** A holder that has had a lock for so long is likely to hold it for some more. */
const AT_WORK_MS = 12
/** After a refusal, so that no actor asks a service that is away as fast as it can refuse. */
const REFUSED_MS = 30
/** A reading of the clock and of the lease that took longer than this is made again. */
const READING_NS = 200_000n
const MOST_READINGS = 20

interface Holding {
  readonly watch: LossWatch
  readonly sinceMs: number
  readonly isRenewed: boolean
}

export class Site implements Environment {
  readonly locks: Locks
  readonly resource: ResourceClient
  closing = false
  waiting = 0
  leases = 0
  losses = 0
  /** Hears of each lease that is exported. */
  whenExported: (exported: ExportedLease, heirs: readonly Heir[]) => void = () => undefined
  readonly #library: Library
  readonly #log: Log
  readonly #tolerated: ReadonlySet<string>
  readonly #targets: Targets
  readonly #holdings = new Map<Belief, Holding>()
  /** What is claimed with renewals. */
  readonly #renewed = new WeakSet<Claimed>()
  readonly #recorders = new Map<string, Recorder>()
  readonly #ticker: NodeJS.Timeout
  #tellOfHold: (() => void) | undefined
  /** Counts from the start of the process: in a long run the system gives a pid to another one. */
  #exports = Math.round(performance.timeOrigin)

  constructor(
    library: Library,
    locks: Locks,
    log: Log,
    resource: ResourceClient,
    assignment: Assignment,
  ) {
    this.#library = library
    this.locks = locks
    this.#log = log
    this.resource = resource
    this.#targets = new Targets(locks)
    this.#tolerated = new Set([...EXPECTED_CODES, ...assignment.tolerated])
    library.onLockEvent('renewed', ({ claimId }) => {
      for (const belief of this.#holdings.keys())
        if (belief.lease.claimId === claimId) belief.extend()
    })
    library.onLockEvent('lost', () => (this.losses += 1))
    library.onLockEvent('error', ({ lock: key, claimId: claim, during, error }) =>
      log.background({ key, claim, during, error: describe(error) }),
    )
    this.#ticker = setInterval(() => {
      for (const { watch } of this.#holdings.values()) watch.tick()
      this.#tellOfHolds()
    }, TURN_MS)
  }

  nowMs(): number {
    return performance.now()
  }

  async sleep(ms: number): Promise<number> {
    const startMs = performance.now()
    await sleep(ms)
    return performance.now() - startMs
  }

  after(ms: number, act: () => void): void {
    setTimeout(act, ms)
  }

  target(choice: LockChoice): Target {
    const target = this.#targets.of(choice)
    return choice.renew ? this.renewed(target) : target
  }

  patient(name: string): Target {
    return this.mutex(name, PATIENT_TTL_MS)
  }

  /** Notes that the leases of a lock are renewed. */
  renewed(target: Target): Target {
    this.#renewed.add(target.claimed)
    return target
  }

  mutex(name: string, ttlMs: number): Target {
    return this.#targets.named(name, () => targetOf(this.locks.mutex(name, { ttlMs }), 1, 1))
  }

  call<T>(_actor: string, _lock: string, request: () => Promise<T>): Promise<T> {
    return request()
  }

  steal(lock: string): Promise<unknown> {
    return this.locks.steal(lock)
  }

  believe(actor: string, lease: Lease, claimed: Claimed): Belief {
    const belief = new Belief(actor, lease, claimed, this.#instruments(actor))
    this.leases += 1
    belief.begin()
    this.#holdings.set(belief, {
      watch: new LossWatch(belief, this.#log),
      sinceMs: performance.now(),
      isRenewed: this.#renewed.has(claimed),
    })
    return belief
  }

  forget(belief: Belief): void {
    this.#holdings.delete(belief)
  }

  workBegan(): void {}

  async workCut(): Promise<void> {}

  waitEnded(): void {}

  async handOver(belief: Belief, operation: Operation): Promise<boolean> {
    const { actor, key, lease, isExclusive } = belief
    const handle = await exportLease(this, belief)
    if (handle === undefined) return false
    if (lease.held)
      this.#log.breach({ property: 'held', key, message: `${actor} holds what it has exported.` })
    const { lock, weight, renew } = operation
    this.#exports += 1
    const id = `${actor}@${process.pid}#${this.#exports}`
    // A writer may have become a reader.
    const choice = { lock, weight, renew, write: isExclusive }
    this.whenExported({ id, choice, handle, token: String(lease.token) }, operation.heirs)
    await incrementLate(this, belief, operation.heirs)
    return true
  }

  /** What is held now. */
  beliefs(): { readonly belief: Belief; readonly isRenewed: boolean }[] {
    return [...this.#holdings]
      .filter(([belief]) => !belief.isOver)
      .map(([belief, { isRenewed }]) => ({ belief, isRenewed }))
  }

  /** Calls back when an actor is at work under a lock that no other client may hold now. */
  whenHolding(tell: (() => void) | undefined): void {
    this.#tellOfHold = tell
  }

  note(actor: string, note: HistoryNote): void {
    this.#recorder(actor).note(note)
  }

  fault(message: string): void {
    this.#log.breach({ property: 'error', key: '', message })
  }

  async endure(error: unknown): Promise<void> {
    const isTolerated = this.#library.isLockError(error) && this.#tolerated.has(error.code)
    if (!isTolerated && !(error instanceof AbortedByCaller)) throw error
    await sleep(REFUSED_MS)
  }

  end(): void {
    clearInterval(this.#ticker)
    this.resource.close()
  }

  #tellOfHolds(): void {
    if (!this.#tellOfHold) return
    const isAtWork = [...this.#holdings].some(
      ([{ isExclusive, isOver }, { sinceMs }]) =>
        isExclusive && !isOver && performance.now() - sinceMs > AT_WORK_MS,
    )
    if (!isAtWork) return
    const tell = this.#tellOfHold
    this.#tellOfHold = undefined
    tell()
  }

  #instruments(actor: string): Instruments {
    return {
      nowNs,
      deadlineNs: readDeadline,
      toleranceNs: READING_NS,
      note: (note) => this.note(actor, note),
    }
  }

  #recorder(client: string): Recorder {
    let recorder = this.#recorders.get(client)
    if (!recorder) {
      recorder = new Recorder(client, (event) => this.#log.event(event))
      this.#recorders.set(client, recorder)
    }
    return recorder
  }
}

/**
 * Returns when the lease ends, on the shared clock. A process can be stopped between two readings,
 * so they must lie close.
 */
function readDeadline(lease: Lease): bigint {
  let deadlineNs = 0n
  for (let tries = 0; tries < MOST_READINGS; tries += 1) {
    const beforeNs = nowNs()
    const { remainingMs } = lease
    const afterNs = nowNs()
    deadlineNs = beforeNs + BigInt(Math.floor(remainingMs * 1e6))
    if (afterNs - beforeNs < READING_NS) break
  }
  return deadlineNs
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  const cause = error.cause === undefined ? '' : `; because of ${describe(error.cause)}`
  return `${error.name}${typeof code === 'string' ? ` (${code})` : ''}: ${error.message}${cause}`
}
