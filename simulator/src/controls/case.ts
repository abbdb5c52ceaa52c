/** What the controls have to live through: four clients of one lock, and the faults that a lock on one Redis can bear. */
import { DURATION_MS, drawClock, PROCESSES, TTL_MS } from '../case.js'
import { drawFaults, type Fault } from '../faults/plan.js'
import { Dice } from '../world/dice.js'
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
  /** Nobody waits longer than this for the lock. */
  readonly longestWaitMs: number
}

export function drawControlCase(seed: number): ControlCase {
  const world = Dice.named(seed, 'control world')
  const script = Dice.named(seed, 'control script')
  const shape = { processes: PROCESSES, durationMs: DURATION_MS }
  return {
    seed,
    durationMs: DURATION_MS,
    ttlMs: TTL_MS,
    clocks: Array.from({ length: PROCESSES }, () => drawClock(world)),
    serverClock: drawClock(world),
    lanes: world.whole(1, 2),
    scripts: Array.from({ length: PROCESSES }, () => drawOperations(script)),
    faults: drawFaults(Dice.named(seed, 'control faults'), shape).filter(isBearable),
    longestWaitMs: Infinity,
  }
}

/** A server that forgets or whose clock jumps breaks the good lock too, and no control looks for a sleep of its machine. */
function isBearable(fault: Fault): boolean {
  if (fault.kind === 'server-crash') return fault.keepsData
  return fault.kind !== 'server-clock-step' && fault.kind !== 'sleep'
}

function drawOperations(dice: Dice): ControlOperation[] {
  const operations: ControlOperation[] = []
  for (let atMs = 0; atMs < DURATION_MS;) {
    const operation = {
      thinkMs: dice.exponential(200, 2000),
      workMs: dice.chance(0.1) ? dice.between(300, 2500) : dice.exponential(40, 300),
      giveUpMs: dice.chance(0.1) ? dice.between(50, 1500) : undefined,
    }
    operations.push(operation)
    atMs += operation.thinkMs + operation.workMs + 5
  }
  return operations
}
