/**
 * What the controls have to live through: four clients of one lock, and the faults that a lock on
 * one Redis can bear.
 */
import { DURATION_MS, drawClock, PROCESSES, TTL_MS } from '../case.js'
import { type Fault, type FaultKind } from '../faults/fault.js'
import { drawAmong } from '../faults/plan.js'
import { Dice } from '@holdfast/workload'
import type { ClockErrors } from '../world/machine-clock.js'

export interface ControlOperation {
  readonly thinkMs: number
  readonly workMs: number
  /** The caller gives up the wait after so long. */
  readonly giveUpMs: number | undefined
}

export interface ControlCase {
  readonly seed: number
  readonly durationMs: number
  readonly ttlMs: number
  readonly clocks: readonly ClockErrors[]
  readonly serverClock: ClockErrors
  readonly lanes: number
  /** What each process does, one thing after the other. */
  readonly scripts: readonly (readonly ControlOperation[])[]
  readonly faults: readonly Fault[]
  /** The longest wait for the lock. */
  readonly longestWaitMs: number
}

/**
 * All that a lock on one Redis can bear, much of it in every run. A clock of the server that jumps
 * it cannot bear, and no control looks for a sleep of its machine.
 */
const KINDS: readonly FaultKind[] = [
  'storm',
  'slow',
  'slow',
  'cut',
  'cut',
  'cut',
  'stop',
  'stop',
  'stop',
  'kill',
  'server-stop',
  'server-crash',
]
const MOST_FAULTS = 32
/**
 * In how many runs the server loses its data, from some time on: then tokens and truthful releases
 * are what is promised.
 */
const LOSES_DATA = 0.7
const MOST_LOSSES = 16

export function drawControlCase(seed: number): ControlCase {
  const world = Dice.named(seed, 'control world')
  const script = Dice.named(seed, 'control script')
  return {
    seed,
    durationMs: DURATION_MS,
    ttlMs: TTL_MS,
    clocks: Array.from({ length: PROCESSES }, () => drawClock(world)),
    serverClock: drawClock(world),
    lanes: world.whole(1, 2),
    scripts: Array.from({ length: PROCESSES }, () => drawOperations(script)),
    faults: drawControlFaults(Dice.named(seed, 'control faults')),
    longestWaitMs: Infinity,
  }
}

function drawControlFaults(dice: Dice): Fault[] {
  const shape = { processes: PROCESSES, durationMs: DURATION_MS }
  const faults = drawAmong(dice, shape, KINDS, { most: MOST_FAULTS, losesData: false })
  const losses = dice.chance(LOSES_DATA) ? dice.whole(1, MOST_LOSSES) : 0
  const flushes = Array.from({ length: losses }, () => {
    // In the second half, so that the first one shows what breaks exclusion.
    return { kind: 'server-flush', atMs: dice.between(0.7, 1) * DURATION_MS, forMs: 0 } as const
  })
  return [...faults, ...faults.flatMap((fault) => withClockStep(dice, fault)), ...flushes]
}

/** A machine that was away often comes back with its clock set. */
function withClockStep(dice: Dice, fault: Fault): Fault[] {
  if ((fault.kind !== 'stop' && fault.kind !== 'cut') || dice.chance(0.1)) return []
  const { process, atMs, forMs } = fault
  const byMs = dice.pick([-1, -1, -1, 1]) * dice.pick([500, 2000, 60_000])
  return [{ kind: 'clock-step', process, atMs: atMs + dice.unit() * forMs, forMs: 0, byMs }]
}

function drawOperations(dice: Dice): ControlOperation[] {
  const operations: ControlOperation[] = []
  for (let atMs = 0; atMs < DURATION_MS;) {
    const operation = {
      thinkMs: dice.exponential(60, 1000),
      workMs: dice.chance(0.3) ? dice.between(300, 2500) : dice.exponential(40, 300),
      giveUpMs: dice.chance(0.1) ? dice.between(50, 1500) : undefined,
    }
    operations.push(operation)
    atMs += operation.thinkMs + operation.workMs + 5
  }
  return operations
}
