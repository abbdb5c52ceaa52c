/** The locks of one process, ready to be taken, and what it believes to hold. */
import type { Lease, Lockable, Locks } from 'holdfast'
import { Recorder, type HistoryNote } from 'holdfast/conformance'
import { PERMITS, type Operation } from '@holdfast/simulator'
import { CAPACITY_ALL } from 'holdfast/store'
import type { Assignment } from '../protocol.js'
import { Belief, type Claimed } from './belief.js'
import type { Library } from './library.js'
import type { Log } from './log.js'
import type { ResourceClient } from './resource.js'

/** The lease of a lock that is mostly free. */
export const PATIENT_TTL_MS = 20_000
const TURN_MS = 5
/** Whoever has held a lock for so long is likely to hold it for some more. */
const AT_WORK_MS = 12

/** A lock of the catalogue. */
export interface Target {
  readonly claimed: Claimed
  readonly lock: Lockable
}

export class Site {
  readonly locks: Locks
  readonly log: Log
  readonly resource: ResourceClient
  /** Nothing new is begun, and what is at work comes to its end. */
  closing = false
  leases = 0
  losses = 0
  waiting = 0
  readonly #library: Library
  readonly #tolerated: ReadonlySet<string>
  readonly #targets = new Map<string, Target>()
  readonly #beliefs = new Set<Belief>()
  readonly #recorders = new Map<string, Recorder>()
  readonly #turns: NodeJS.Timeout
  #tellOfHold: (() => void) | undefined

  constructor(
    library: Library,
    locks: Locks,
    log: Log,
    resource: ResourceClient,
    assignment: Assignment,
  ) {
    this.#library = library
    this.locks = locks
    this.log = log
    this.resource = resource
    this.#tolerated = new Set([...EXPECTED, ...assignment.tolerated])
    library.onLockEvent('renewed', ({ claimId }) => {
      for (const belief of this.#beliefs) if (belief.lease.claimId === claimId) belief.extend()
    })
    library.onLockEvent('lost', () => (this.losses += 1))
    library.onLockEvent('error', ({ lock: key, claimId: claim, during, error }) =>
      log.background({ key, claim, during, error: describe(error) }),
    )
    this.#turns = setInterval(() => {
      for (const belief of this.#beliefs) belief.turn()
      this.#tellOfHolds()
    }, TURN_MS)
  }

  /** The lock that an operation is about. Each is made once, as a program would. */
  target({ lock, write, weight, renew }: Operation): Target {
    const key = `${lock} ${write} ${weight} ${renew}`
    return this.#made(key, () => {
      const settings = { renew, reentrant: true }
      if (lock === 'permits') {
        const semaphore = this.locks.semaphore(lock, { permits: PERMITS, ...settings })
        return target(semaphore.withWeight(weight), weight, PERMITS)
      }
      if (lock === 'readers') {
        const { read, write: writer } = this.locks.readWriteLock(lock, settings)
        return write ? target(writer, CAPACITY_ALL, CAPACITY_ALL) : target(read, 1, CAPACITY_ALL)
      }
      const fairness = lock === 'fifo' ? 'fifo' : 'cohort'
      return target(this.locks.mutex(lock, { fairness, ...settings }), 1, 1)
    })
  }

  patient(name: string): Target {
    return this.#made(name, () => target(this.locks.mutex(name, { ttlMs: PATIENT_TTL_MS }), 1, 1))
  }

  believe(client: string, lease: Lease, claimed: Claimed): Belief {
    const belief = new Belief(client, this.#recorder(client), this.log, lease, claimed)
    this.leases += 1
    this.#beliefs.add(belief)
    belief.begin()
    return belief
  }

  /** Calls back when somebody is at work under a lock that nobody else may hold now. */
  whenHolding(tell: () => void): void {
    this.#tellOfHold = tell
  }

  forget(belief: Belief): void {
    this.#beliefs.delete(belief)
  }

  note(client: string, note: HistoryNote): void {
    this.#recorder(client).note(note)
  }

  /**
   * Failures that an honest program has to live with; anything else is a mistake of this harness or
   * of Holdfast.
   */
  isExpected(error: unknown): boolean {
    return (
      error instanceof AbortedByCaller ||
      (this.#library.isLockError(error) && this.#tolerated.has(error.code))
    )
  }

  end(): void {
    clearInterval(this.#turns)
    this.resource.close()
  }

  #tellOfHolds(): void {
    if (!this.#tellOfHold) return
    if (![...this.#beliefs].some((belief) => belief.isAtWork(AT_WORK_MS))) return
    this.#tellOfHold()
    this.#tellOfHold = undefined
  }

  #recorder(client: string): Recorder {
    let recorder = this.#recorders.get(client)
    if (!recorder) {
      recorder = new Recorder(client, (event) => this.log.event(event))
      this.#recorders.set(client, recorder)
    }
    return recorder
  }

  #made(key: string, make: () => Target): Target {
    let made = this.#targets.get(key)
    if (!made) this.#targets.set(key, (made = make()))
    return made
  }
}

function target(lock: Lockable, weight: number, capacity: number): Target {
  const mode = weight === capacity ? 'exclusive' : 'shared'
  return { lock, claimed: { key: lock.name, mode, weight, capacity } }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as { code?: unknown }
  const cause = error.cause === undefined ? '' : `; because of ${describe(error.cause)}`
  return `${error.name}${typeof code === 'string' ? ` (${code})` : ''}: ${error.message}${cause}`
}

const EXPECTED = [
  'LOCK_TIMEOUT',
  'LOCK_LOST',
  'LOCKS_CLOSED',
  'STORE_UNAVAILABLE',
  'RELEASE_UNKNOWN',
]

export class AbortedByCaller extends Error {
  override readonly name = 'AbortedByCaller'
}
