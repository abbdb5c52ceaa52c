/** One process at work: its locks, what it believes to hold, and its actors. */
import { isLockError, type Lease, type Lockable, type Locks } from 'holdfast'
import { CAPACITY_ALL, type Store } from 'holdfast/store'
import type { Runtime } from '../runtime.js'
import type { Agenda } from '../world/agenda.js'
import type { Dice } from '../world/dice.js'
import type { Process } from '../world/process.js'
import { Belief, type Claimed } from './belief.js'
import type { Claimants } from './claimants.js'
import type { Breach, Circumstances } from './circumstances.js'
import type { Chronicle } from './chronicle.js'
import type { FencedCounters } from './fenced-counter.js'
import { PERMITS, STRICT, type LockName, type Operation } from './script.js'

export interface ClientOptions {
  readonly runtime: Runtime
  readonly agenda: Agenda
  readonly process: Process
  readonly store: Store
  readonly chronicle: Chronicle
  readonly counters: FencedCounters
  readonly dice: Dice
  readonly ttlMs: number
  readonly requestTimeoutMs: number
  readonly circumstances: Circumstances
  readonly claimants: Claimants
  /** Asks the truth, which no program can. */
  readonly serverHolds: (claimId: string) => boolean
}

/** By how much a timer may be late, and some more for an answer of the event loop. */
const TOLD_WITHIN_MS = 10

/** A lock of the catalogue, ready to be taken. */
export interface Target {
  readonly claimed: Claimed
  readonly lock: Lockable
}

export class Client {
  readonly process: Process
  readonly chronicle: Chronicle
  readonly counters: FencedCounters
  readonly dice: Dice
  readonly agenda: Agenda
  readonly locks: Locks
  readonly serverHolds: (claimId: string) => boolean
  readonly #claimants: Claimants
  readonly #circumstances: Circumstances
  readonly #targets = new Map<string, Target>()
  readonly #beliefs = new Set<Belief>()

  constructor(options: ClientOptions) {
    this.process = options.process
    this.chronicle = options.chronicle
    this.counters = options.counters
    this.dice = options.dice
    this.agenda = options.agenda
    this.#claimants = options.claimants
    this.serverHolds = options.serverHolds
    this.#circumstances = options.circumstances
    this.locks = options.runtime.createLocks(options.store, {
      ttlMs: options.ttlMs,
      requestTimeoutMs: options.requestTimeoutMs,
      clock: options.process,
      random: { next: () => options.dice.unit(), id: () => options.dice.id() },
    })
  }

  get beliefs(): ReadonlySet<Belief> {
    return this.#beliefs
  }

  /** The lock that an operation is about. Each is made once, as a program would. */
  target(operation: Operation): Target {
    const { lock, write, weight, renew } = operation
    const key = `${lock} ${write} ${weight} ${renew}`
    let target = this.#targets.get(key)
    if (!target) this.#targets.set(key, (target = this.#makeTarget(operation)))
    return target
  }

  #makeTarget({ lock: name, write, weight, renew }: Operation): Target {
    const settings = { renew, reentrant: true }
    if (name === 'permits') {
      const semaphore = this.locks.semaphore(name, { permits: PERMITS, ...settings })
      return target(semaphore.withWeight(weight), weight, PERMITS)
    }
    if (name === 'readers') {
      const { read, write: writer } = this.locks.readWriteLock(name, settings)
      return write ? target(writer, CAPACITY_ALL, CAPACITY_ALL) : target(read, 1, CAPACITY_ALL)
    }
    const fairness = name === STRICT ? 'fifo' : 'cohort'
    return target(this.locks.mutex(name, { fairness, ...settings }), 1, 1)
  }

  /** Runs `ask` so that the claim which it makes at once is known to be this actor's. */
  asking<T>(actor: string, lock: LockName, ask: () => Promise<T>): Promise<T> {
    return this.#claimants.asking({ actor, lock }, ask)
  }

  believe(client: string, lease: Lease, claimed: Claimed): Belief {
    const { process, chronicle, agenda } = this
    const belief = new Belief({
      client,
      process,
      chronicle,
      lease,
      claimed,
      nowMs: () => agenda.nowMs,
    })
    belief.begin()
    this.#claimants.served(client, lease.claimId, (lease as { token: bigint | undefined }).token)
    this.#beliefs.add(belief)
    if (lease.held) this.#expectNews(belief)
    else this.#circumstances.breach(stillborn(belief))
    return belief
  }

  /**
   * Whoever holds a lease beyond its deadline must have been told by then, unless its process was
   * stopped.
   */
  #expectNews(belief: Belief): void {
    const { agenda, process } = this
    const dueMs = Math.max(belief.deadlineMs + TOLD_WITHIN_MS, agenda.nowMs + TOLD_WITHIN_MS)
    agenda.at(dueMs, () => {
      if (belief.over || !process.alive) return
      const told = belief.lease.signal.aborted
      if (told) return
      if (agenda.nowMs < belief.deadlineMs + TOLD_WITHIN_MS || process.awakeMs < TOLD_WITHIN_MS) {
        this.#expectNews(belief)
      } else this.#circumstances.breach(untold(belief))
    })
  }

  forget(belief: Belief): void {
    this.#beliefs.delete(belief)
  }

  /** A renewal of this claim was acknowledged. */
  renewed(claimId: string): void {
    for (const belief of this.#beliefs) if (belief.lease.claimId === claimId) belief.extend()
  }

  /** The process wakes: what it does not believe any more, it last believed when it fell asleep. */
  woke(sinceMs: number | undefined): void {
    for (const belief of this.#beliefs) belief.look(sinceMs)
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.process.timer(ms, resolve))
  }

  /** Asks the resource, which is a network away. */
  async visit<T>(ask: () => T): Promise<T> {
    const { agenda, dice, process } = this
    return new Promise((resolve) => {
      agenda.after(dice.exponential(1, 10), () => {
        const answer = ask()
        agenda.after(dice.exponential(1, 10), () => process.receive(() => resolve(answer)))
      })
    })
  }
}

function untold({ client, key, deadlineMs }: Belief): Breach {
  const message = `"${key}" was lost by ${client} at ${deadlineMs.toFixed(3)} ms, and its signal did not tell.`
  return { property: 'loss-told', key, message }
}

function stillborn({ client, key, deadlineMs }: Belief): Breach {
  const message = `"${key}" was granted to ${client} at ${deadlineMs.toFixed(3)} ms, when that lease was over, or in doubt.`
  return { property: 'stillborn', key, message }
}

function target(lock: Lockable, weight: number, capacity: number): Target {
  const mode = weight === capacity ? 'exclusive' : 'shared'
  return { lock, claimed: { key: lock.name, mode, weight, capacity } }
}

/**
 * Failures that an honest program has to live with; anything else is a mistake of the simulator or
 * of Holdfast.
 */
export function isExpected(error: unknown): boolean {
  if (error instanceof AbortedByCaller) return true
  if (!isLockError(error)) return false
  return [
    'LOCK_TIMEOUT',
    'LOCK_LOST',
    'LOCKS_CLOSED',
    'STORE_UNAVAILABLE',
    'RELEASE_UNKNOWN',
  ].includes(error.code)
}

export class AbortedByCaller extends Error {
  override readonly name = 'AbortedByCaller'
}
