/**
 * Draws the faults of a run. The list is made from the seed before the run, so that it can be read
 * and shortened.
 */
import type { Dice } from '@holdfast/workload'
import type { Fault, FaultKind } from './fault.js'

/**
 * What a run is drawn from. The last two break promises that no store can keep, so they are rarer.
 */
const USUAL: readonly FaultKind[] = [
  'storm',
  'slow',
  'cut',
  'stop',
  'sleep',
  'kill',
  'clock-step',
  'server-stop',
  'server-crash',
]
const MOST_KINDS = 4
const MOST_FAULTS = 10

export interface FaultShape {
  readonly processes: number
  readonly durationMs: number
}

export function drawFaults(dice: Dice, shape: FaultShape): Fault[] {
  const kinds = Array.from({ length: dice.whole(0, MOST_KINDS) }, () => dice.pick(USUAL))
  const losesData = dice.chance(0.1)
  if (losesData) kinds.push(dice.pick(['server-crash', 'server-flush'] as const))
  if (dice.chance(0.1)) kinds.push('server-clock-step')
  return kinds.length === 0 ? [] : drawAmong(dice, shape, kinds, { most: MOST_FAULTS, losesData })
}

/**
 * The whole service is down, for longer than a lease lasts: when all clients start, or later.
 * Callers that wait longer have to outlive it.
 */
export function drawOutage(dice: Dice, { durationMs }: FaultShape, nodes: number): Fault[] {
  if (!dice.chance(0.2)) return []
  const atMs = dice.chance(0.5) ? 0 : dice.between(0.1, 0.6) * durationMs
  const forMs = dice.between(1000, 6000)
  return Array.from({ length: nodes }, (_, node) => ({
    kind: 'server-crash',
    atMs,
    forMs,
    keepsData: true,
    node,
  }))
}

/** What only services with connections and replicas have, beside all the others. */
export function drawServiceFaults(dice: Dice, shape: FaultShape): Fault[] {
  const resets = dice.chance(0.5) ? dice.whole(1, 6) : 0
  const failovers = dice.chance(0.15) ? dice.whole(1, 2) : 0
  const swells = dice.chance(0.3) ? dice.whole(1, 3) : 0
  const drawn = (kind: FaultKind): Fault => drawFault(dice, shape, kind, false)
  return [
    ...Array.from({ length: resets }, () => drawn('reset')),
    ...Array.from({ length: failovers }, () => drawn('server-failover')),
    ...Array.from({ length: swells }, () => drawn('swell')),
  ]
}

/** What only clients with a thread that renews have: their event loops are blocked. */
export function drawBlocks(dice: Dice, shape: FaultShape): Fault[] {
  const drawn = (kind: FaultKind): Fault => drawFault(dice, shape, kind, false)
  return [
    ...Array.from({ length: dice.whole(2, 8) }, () => drawn('block')),
    ...Array.from({ length: dice.chance(0.15) ? dice.whole(1, 2) : 0 }, () => drawn('thread-end')),
  ]
}

/** What a service with connections and servers that fall behind has, beside all the others. */
export function drawQueueFaults(dice: Dice, shape: FaultShape): Fault[] {
  const resets = dice.chance(0.5) ? dice.whole(1, 6) : 0
  const lags = dice.chance(0.4) ? dice.whole(1, 3) : 0
  return [
    ...Array.from({ length: resets }, () => drawFault(dice, shape, 'reset', false)),
    ...Array.from({ length: lags }, () => drawFault(dice, shape, 'lag', false)),
  ]
}

/**
 * Over several servers: the usual faults strike one of them, or all ways of a process, and more
 * befall the ways.
 */
export function drawNodeFaults(
  dice: Dice,
  shape: FaultShape,
  usual: readonly Fault[],
  nodes: number,
): Fault[] {
  const squeezes = Array.from({ length: dice.chance(0.7) ? dice.whole(1, 4) : 0 }, () =>
    drawSqueeze(dice, shape, nodes),
  )
  const struck = usual.map((fault) =>
    fault.kind.startsWith('server-') || dice.chance(0.5)
      ? { ...fault, node: dice.whole(0, nodes - 1) }
      : fault,
  )
  return [...struck, ...squeezes.flat()]
}

/**
 * One server is away for a process, so that it depends on all others; and on the way to one of
 * these much goes wrong.
 */
function drawSqueeze(dice: Dice, shape: FaultShape, nodes: number): Fault[] {
  const process = dice.whole(0, shape.processes - 1)
  const away = dice.whole(0, nodes - 1)
  const bad = (away + dice.whole(1, nodes - 1)) % nodes
  const forMs = dice.between(1000, 4000)
  const fromMs = dice.between(0.02, 0.9) * (shape.durationMs - forMs)
  const within = (): number => fromMs + dice.between(0, 0.8) * forMs
  const lasts = dice.between(100, 1000)
  const storm = { loseRequest: 0, loseReply: 0, twice: dice.between(0.1, 0.8), loseWake: 0 }
  return [
    {
      kind: 'cut',
      atMs: fromMs + 0.2 * forMs,
      forMs: 0.8 * forMs,
      process,
      node: away,
      holds: dice.chance(0.3),
    },
    { kind: 'storm', atMs: within(), forMs: lasts, process, node: bad, ...storm },
    {
      kind: 'cut',
      atMs: within(),
      forMs: dice.between(50, 700),
      process,
      node: bad,
      holds: dice.chance(0.5),
    },
    ...Array.from({ length: dice.whole(1, 3) }, () => ({
      kind: 'reset' as const,
      atMs: within(),
      forMs: 0,
      process,
      node: bad,
    })),
  ]
}

export interface FaultLimits {
  readonly most: number
  /** Whether a server that crashes may lose its data. */
  readonly losesData: boolean
}

/** At least one of each kind that is named, in the order of time. */
export function drawAmong(
  dice: Dice,
  shape: FaultShape,
  kinds: readonly FaultKind[],
  { most, losesData }: FaultLimits,
): Fault[] {
  const faults = Array.from({ length: dice.whole(kinds.length, most) }, (_, index) =>
    drawFault(dice, shape, kinds[index] ?? dice.pick(kinds), losesData),
  )
  return faults.sort((a, b) => a.atMs - b.atMs)
}

function drawFault(dice: Dice, shape: FaultShape, kind: FaultKind, losesData: boolean): Fault {
  const atMs = dice.between(0.02, 0.95) * shape.durationMs
  const process = dice.whole(0, shape.processes - 1)
  const forMs = (mostMs: number): number =>
    Math.min(dice.between(50, mostMs), shape.durationMs - atMs)
  return DRAWS[kind]({ dice, atMs, process, forMs, losesData })
}

interface Circumstances {
  readonly dice: Dice
  readonly atMs: number
  readonly process: number
  /** Draws how long it lasts: at most so long, and not beyond the time of healing. */
  readonly forMs: (mostMs: number) => number
  readonly losesData: boolean
}

const DRAWS: Readonly<Record<FaultKind, (drawn: Circumstances) => Fault>> = {
  storm: ({ dice, atMs, process, forMs }) => ({
    kind: 'storm',
    atMs,
    forMs: forMs(8000),
    process,
    ...drawStorm(dice),
  }),
  slow: ({ dice, atMs, process, forMs }) => ({
    kind: 'slow',
    atMs,
    forMs: forMs(5000),
    process,
    meanMs: dice.pick([20, 60, 150]),
  }),
  swell: ({ dice, atMs, process, forMs }) => ({
    kind: 'swell',
    atMs,
    forMs: forMs(8000),
    process,
    times: dice.pick([2, 1000]),
  }),
  lag: ({ dice, atMs, process, forMs }) => ({
    kind: 'lag',
    atMs,
    forMs: forMs(5000),
    process,
    lagMs: dice.pick([20, 150, 1000]),
  }),
  cut: ({ dice, atMs, process, forMs }) => ({
    kind: 'cut',
    atMs,
    forMs: forMs(3000),
    process,
    holds: dice.chance(0.4),
  }),
  stop: ({ atMs, process, forMs }) => ({ kind: 'stop', atMs, forMs: forMs(3000), process }),
  block: ({ atMs, process, forMs }) => ({ kind: 'block', atMs, forMs: forMs(5000), process }),
  'thread-end': ({ atMs, process }) => ({ kind: 'thread-end', atMs, forMs: 0, process }),
  kill: ({ atMs, process, forMs }) => ({ kind: 'kill', atMs, forMs: forMs(3000), process }),
  sleep: ({ atMs, process, forMs }) => ({
    kind: 'sleep',
    atMs,
    forMs: Math.max(100, forMs(4000)),
    process,
  }),
  'clock-step': ({ dice, atMs, process }) => ({
    kind: 'clock-step',
    atMs,
    forMs: 0,
    process,
    byMs: drawStep(dice),
  }),
  'server-stop': ({ atMs, forMs }) => ({ kind: 'server-stop', atMs, forMs: forMs(1500) }),
  'server-crash': ({ dice, atMs, forMs, losesData }) => ({
    kind: 'server-crash',
    atMs,
    forMs: forMs(1200),
    keepsData: !losesData || dice.chance(0.3),
  }),
  'server-flush': ({ atMs }) => ({ kind: 'server-flush', atMs, forMs: 0 }),
  'server-clock-step': ({ dice, atMs }) => ({
    kind: 'server-clock-step',
    atMs,
    forMs: 0,
    byMs: drawStep(dice),
  }),
  reset: ({ atMs, process }) => ({ kind: 'reset', atMs, forMs: 0, process }),
  'server-failover': ({ dice, atMs, forMs }) => ({
    kind: 'server-failover',
    atMs,
    forMs: forMs(1200),
    losesMs: dice.exponential(100, 1000),
  }),
}

function drawStorm(dice: Dice): {
  loseRequest: number
  loseReply: number
  twice: number
  loseWake: number
} {
  const some = (most: number): number => (dice.chance(0.5) ? dice.between(0, most) : 0)
  return { loseRequest: some(0.3), loseReply: some(0.3), twice: some(0.3), loseWake: some(1) }
}

/** Forward or back; by little, as a time service does, or by a lot. */
function drawStep(dice: Dice): number {
  const size = dice.pick([30, 500, 2000, 60_000]) * dice.between(0.5, 1)
  return dice.chance(0.5) ? size : -size
}
