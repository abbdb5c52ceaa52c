/**
 * What the clients are going to do: a script that is drawn from the seed before the run, so that it
 * can be cut down.
 */
import type { Dice } from './dice.js'

/** The lock that is taken strictly in the order of the store's queue. */
export const STRICT = 'fifo'
export const LOCKS = ['cohort-a', 'cohort-b', STRICT, 'readers', 'permits'] as const
/** For stores that have no semaphores. */
export const LOCKS_WITHOUT_PERMITS = LOCKS.filter((name) => name !== 'permits')
export type LockName = (typeof LOCKS)[number]

/** How many permits the semaphore has. */
export const PERMITS = 3

/** One operation: think, take a lock, work under it, give it back. */
export interface Operation {
  readonly thinkMs: number
  readonly lock: LockName
  readonly how: 'acquire' | 'run' | 'try' | 'steal'
  /** Of a readers-writer lock: as a writer; else without a meaning. */
  readonly write: boolean
  readonly weight: number
  readonly waitMs: number
  /** The caller gives up the wait by its signal after so long. */
  readonly abortMs: number | undefined
  /** Do no work at all: hand-offs in one tick are where order goes wrong. */
  readonly idle: boolean
  readonly workMs: number
  readonly renew: boolean
  /** What else is done while it is held. */
  readonly twist: 'none' | 'downgrade' | 'renew' | 're-enter' | 'read'
  /**
   * Taken while this one is held; always a lock further down the list, so that no actors wait in a
   * circle.
   */
  readonly nested: Operation | undefined
  /** Who adopts the lease, which is exported instead of released. Empty for a release. */
  readonly heirs: readonly Heir[]
}

/** The lock of an operation, as a program makes it. */
export type LockChoice = Pick<Operation, 'lock' | 'write' | 'weight' | 'renew'>

/** A caller that adopts an exported lease, works under it and releases it. */
export interface Heir {
  readonly process: number
  /** How long after the export. */
  readonly afterMs: number
  readonly workMs: number
}

export interface ActorScript {
  readonly process: number
  readonly name: string
  readonly operations: readonly Operation[]
}

export interface Shape {
  readonly processes: number
  readonly actorsPerProcess: number
  readonly durationMs: number
  readonly locks: readonly LockName[]
}

export function drawScripts(dice: Dice, shape: Shape): ActorScript[] {
  const scripts: ActorScript[] = []
  for (let process = 0; process < shape.processes; process += 1) {
    for (let actor = 0; actor < shape.actorsPerProcess; actor += 1) {
      const name = `p${process}.${String.fromCharCode(97 + actor)}`
      scripts.push({ process, name, operations: drawOperations(dice, shape) })
    }
  }
  return scripts
}

/** As many as fit if no actor ever had to wait. */
function drawOperations(dice: Dice, { durationMs, locks }: Shape): Operation[] {
  const operations: Operation[] = []
  for (let atMs = 0; atMs < durationMs;) {
    const operation = drawOperation(dice, locks, true)
    operations.push(operation)
    atMs += operation.thinkMs + operation.workMs + 5
  }
  return operations
}

export function drawOperation(dice: Dice, locks: readonly LockName[], mayNest: boolean): Operation {
  const lock = dice.pick(locks)
  const further = locks.filter((name) => LOCKS.indexOf(name) > LOCKS.indexOf(lock))
  const how = dice.chance(0.02) ? 'steal' : dice.pick(['acquire', 'run', 'run', 'try'] as const)
  const write = dice.chance(0.4)
  return {
    thinkMs: dice.exponential(250, 2000),
    lock,
    how,
    write,
    weight: lock === 'permits' ? dice.whole(1, PERMITS) : 1,
    waitMs: drawWait(dice),
    abortMs: dice.chance(0.1) ? dice.between(0, 800) : undefined,
    idle: dice.chance(0.15),
    workMs: dice.chance(0.15) ? dice.between(300, 2500) : dice.exponential(30, 300),
    renew: dice.chance(0.85),
    twist: drawTwist(dice, lock, write),
    nested:
      mayNest && further.length > 0 && dice.chance(0.1)
        ? drawOperation(dice, further, false)
        : undefined,
    heirs: [],
  }
}

/** Some wait for less than an outage may last, some for longer, and most without an end. */
function drawWait(dice: Dice): number {
  if (dice.chance(0.3)) return dice.between(1, 1500)
  return dice.chance(0.1) ? dice.between(1500, 8000) : Infinity
}

function drawTwist(dice: Dice, lock: LockName, write: boolean): Operation['twist'] {
  if (!dice.chance(0.2)) return 'none'
  if (lock === 'readers' && write) return dice.pick(['downgrade', 'read'] as const)
  return dice.pick(['renew', 're-enter'] as const)
}
