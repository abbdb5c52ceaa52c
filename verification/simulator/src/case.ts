/**
 * A case: everything that a run depends on. It is drawn from a seed, and may be cut down
 * afterwards; the same case always runs the same way.
 */
import { type Fault } from './faults/fault.js'
import {
  drawFaults,
  drawBlocks,
  drawNodeFaults,
  drawOutage,
  drawQueueFaults,
  drawServiceFaults,
  type FaultShape,
} from './faults/plan.js'
import { ADOPTS, isRedis, keepsEntries, NODES, type StoreName } from './server/models.js'
import { Dice } from '@holdfast/workload'
import type { ClockErrors } from './world/machine-clock.js'
import {
  drawScripts,
  LOCKS,
  LOCKS_WITHOUT_PERMITS,
  withHeirs,
  type ActorScript,
  type Shape,
} from '@holdfast/workload'

export const PROCESSES = 4
export const DURATION_MS = 20_000
export const TTL_MS = 1000
const LONG_TTL_MS = 4000

/**
 * How far the rate of one clock is off at most. Two such clocks part by no more than the margin of
 * 1% allows.
 */
const WORST_RATE = 0.005

export interface Case {
  readonly seed: number
  readonly store: StoreName
  readonly durationMs: number
  readonly ttlMs: number
  readonly clocks: readonly ClockErrors[]
  /** One for each server of the store. */
  readonly serverClocks: readonly ClockErrors[]
  /** How many connections each process has. */
  readonly lanes: number
  readonly requestTimeoutMs: number
  /** Whether `run` waits until its release is confirmed. */
  readonly awaitRelease: boolean
  /** Of clients with a thread that renews: for how long a blocked event loop keeps its leases. */
  readonly blockedAtMostMs: number | undefined
  readonly actors: readonly ActorScript[]
  readonly faults: readonly Fault[]
}

export function drawCase(seed: number, store: StoreName): Case {
  const world = Dice.named(seed, 'world')
  const shape = { processes: PROCESSES, durationMs: DURATION_MS }
  const locks = store === 'redlock' ? LOCKS_WITHOUT_PERMITS : LOCKS
  return {
    seed,
    store,
    durationMs: DURATION_MS,
    ttlMs: drawTtl(seed, store),
    clocks: Array.from({ length: PROCESSES }, () => drawClock(world)),
    serverClocks: [drawClock(world), ...drawMoreClocks(seed, NODES[store] - 1)],
    lanes: world.whole(1, 3),
    requestTimeoutMs: world.pick([150, 300, 600]),
    awaitRelease: Dice.named(seed, 'releases').chance(0.75),
    blockedAtMostMs:
      store === 'redis-worker' ? Dice.named(seed, 'cap').pick([600, 2000, 4000]) : undefined,
    actors: drawActors(seed, store, {
      ...shape,
      actorsPerProcess: world.whole(1, 3),
      // Few locks make a crowd, many make variety.
      locks: world.chance(0.4) ? [world.pick(locks)] : locks,
    }),
    faults: drawAllFaults(seed, store, shape).sort((a, b) => a.atMs - b.atMs),
  }
}

/** With a long TTL, claims wait on another session than they hold on. */
function drawTtl(seed: number, store: StoreName): number {
  const isLong = keepsEntries(store) && Dice.named(seed, 'ttl').chance(0.3)
  return isLong ? LONG_TTL_MS : TTL_MS
}

/** The script, in which leases pass to other processes where the store can do that. */
function drawActors(seed: number, store: StoreName, shape: Shape): ActorScript[] {
  const scripts = drawScripts(Dice.named(seed, 'script'), shape)
  if (!ADOPTS[store]) return scripts
  const dice = Dice.named(seed, 'hand-overs')
  return scripts.map((script) => ({
    ...script,
    operations: script.operations.map((operation) => withHeirs(dice, operation, shape.processes)),
  }))
}

function drawAllFaults(seed: number, store: StoreName, shape: FaultShape): Fault[] {
  const outage = drawOutage(Dice.named(seed, 'outage'), shape, NODES[store])
  const usual = drawFaults(Dice.named(seed, 'faults'), shape)
  const dice = Dice.named(seed, 'service faults')
  const blocks = store === 'redis-worker' ? drawBlocks(Dice.named(seed, 'blocks'), shape) : []
  if (isRedis(store)) return [...outage, ...usual, ...drawServiceFaults(dice, shape), ...blocks]
  if (keepsEntries(store)) return [...outage, ...usual, ...drawQueueFaults(dice, shape)]
  if (store === 'redlock') return [...outage, ...drawNodeFaults(dice, shape, usual, NODES.redlock)]
  return [...outage, ...usual]
}

function drawMoreClocks(seed: number, count: number): ClockErrors[] {
  const dice = Dice.named(seed, 'more servers')
  return Array.from({ length: count }, () => drawClock(dice))
}

export function drawClock(dice: Dice): ClockErrors {
  return {
    startMs: dice.between(0, 1e7),
    wallOffMs: dice.between(-2000, 2000),
    rate: dice.chance(0.5)
      ? 1 + dice.pick([-1, 1]) * WORST_RATE
      : dice.between(1 - WORST_RATE, 1 + WORST_RATE),
  }
}
